"""Creates topics, and compares them with the registry, before a process starts."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType

from schemas.topics import TOPICS, Topic
from streams.exceptions import KafkaUnreachable, TopicsDiffer
from streams.kafka.clients import client_config, reach
from streams.settings import Settings

TIMEOUT_SECONDS = 15.0
# How long leader election of new topics may take: a broker that has just started elects many at once.
LEADERS_SECONDS = 60.0
# The extra wait for the future of a request that has timed out.
SPARE_SECONDS = 5.0
# From this replication factor, two replicas must acknowledge a write, so that losing one broker loses no data.
SAFE_REPLICATION, SAFE_IN_SYNC = 3, 2

_MAY_NOT_CREATE = (
    "grant the user Create on topics with this prefix, or let a user who has it run `sager topics --create`"
)
# Advice by the broker's error when it refuses to create a topic.
REFUSED = {
    "TOPIC_AUTHORIZATION_FAILED": _MAY_NOT_CREATE,
    "CLUSTER_AUTHORIZATION_FAILED": _MAY_NOT_CREATE,
    "INVALID_REPLICATION_FACTOR": "set SAGER_REPLICATION to no more than there are brokers, or start the others",
    "POLICY_VIOLATION": "the brokers' policy forbids it: alter SAGER_REPLICATION or SAGER_PARTITIONS as it says, or "
    "make the topic with Kafka's own tools",
}
_SILENCE = (KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError.REQUEST_TIMED_OUT)


@dataclass(frozen=True)
class TopicState:
    """A topic compared with the registry; `partitions` is None if missing."""

    topic: Topic
    name: str
    partitions: int | None
    wrong_partitions: str = ""
    wrong_policy: str = ""
    wrong_limits: tuple[str, ...] = ()  # other entries of its configuration, as far as the broker describes it

    @property
    def differs(self) -> tuple[str, ...]:
        """The differences, in words."""
        return tuple(filter(None, (self.wrong_partitions, self.wrong_policy)))


def admin(settings: Settings) -> AdminClient:
    """Return an admin client of the configured cluster."""
    return AdminClient(client_config(settings))


def inspect(settings: Settings) -> list[TopicState]:
    """Return the state of every topic of the registry."""
    client, cluster = reach(settings, TIMEOUT_SECONDS)
    existing = cluster.topics
    names = {topic.name(settings.prefix): topic for topic in TOPICS.values()}
    configs = _configurations(client, [name for name in names if name in existing])
    states = []
    for name, topic in names.items():
        if name not in existing:
            states.append(TopicState(topic, name, None))
            continue
        found, wanted = len(existing[name].partitions), topic.partitions(settings.partitions)
        needed = topic_config(topic, settings)
        actual = {key: value for key, value in configs.get(name, {}).items() if value not in (None, needed.get(key))}
        policy = actual.get("cleanup.policy")
        partitions = f"has {found} partition{'s'[: found != 1]} instead of {wanted}" if found != wanted else ""
        cleanup = f"has cleanup.policy={policy} instead of {needed['cleanup.policy']}" if policy else ""
        limits = (f"{key}={actual[key]}; the registry has {needed[key]}" for key in needed.keys() & actual)
        states.append(TopicState(topic, name, found, partitions, cleanup, tuple(sorted(limits))))
    return states


def topic_config(topic: Topic, settings: Settings) -> dict[str, str]:
    """Return the configuration of a topic in this deployment."""
    durability = {"min.insync.replicas": str(SAFE_IN_SYNC)} if settings.replication >= SAFE_REPLICATION else {}
    return topic.config() | durability


def _configurations(client: AdminClient, names: Sequence[str]) -> dict[str, dict[str, str | None]]:
    configs: dict[str, dict[str, str | None]] = {}
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    for resource, future in (client.describe_configs(resources) if resources else {}).items():
        with suppress(KafkaException):  # some brokers do not describe configurations, or forbid it
            entries = future.result(TIMEOUT_SECONDS)
            configs[resource.name] = {key: entry.value for key, entry in entries.items()}
    return configs


def ensure(settings: Settings) -> list[str]:
    """Create missing topics, wait for them, and return their names."""
    states = inspect(settings)
    if wrong := [state for state in states if state.differs]:
        raise TopicsDiffer(_advice(settings, wrong))
    missing = [state for state in states if state.partitions is None]
    wanted = [
        NewTopic(
            state.name,
            num_partitions=state.topic.partitions(settings.partitions),
            replication_factor=settings.replication,
            config=topic_config(state.topic, settings),
        )
        for state in missing
    ]
    if wanted:
        create(settings, wanted)
    return [state.name for state in missing]


def _advice(settings: Settings, wrong: Sequence[TopicState]) -> str:
    counts = {s.partitions for s in wrong if s.wrong_partitions and not s.topic.single_partition}
    advice = [f"set SAGER_PARTITIONS={found} if all have that count" for found in counts if len(counts) == 1]
    if any(state.wrong_partitions for state in wrong):
        advice.append(
            "topics without records can be deleted and are created again; for others use another SAGER_PREFIX, "
            "because added partitions part users from their state"
        )
    advice += [
        f"kafka-configs.sh --bootstrap-server {settings.bootstrap} --alter --topic {state.name} "
        f"--add-config cleanup.policy={state.topic.config()['cleanup.policy']}"
        for state in wrong
        if state.wrong_policy
    ]
    found = "; ".join(f"{state.name} {' and '.join(state.differs)}" for state in wrong)
    return f"these topics differ from what this release needs: {found}. What to do: {'; '.join(advice)}"


def create(settings: Settings, wanted: Sequence[NewTopic]) -> None:
    """Create topics that do not exist, and wait for them."""
    client = admin(settings)  # a reference keeps its futures alive
    futures = client.create_topics(wanted, operation_timeout=TIMEOUT_SECONDS, request_timeout=TIMEOUT_SECONDS)
    for name, future in futures.items():
        try:
            future.result(TIMEOUT_SECONDS + SPARE_SECONDS)
        except (KafkaException, TimeoutError) as error:
            _raise_unless_exists(name, error)
    _wait_for_leaders(client, wanted)


def _raise_unless_exists(name: str, error: Exception) -> None:
    reply: KafkaError | None = error.args[0] if isinstance(error, KafkaException) else None
    if reply is None or reply.code() in _SILENCE:
        reason = reply.str() if reply is not None else "no answer"
        raise KafkaUnreachable(
            f"topic {name} is not made within {TIMEOUT_SECONDS:.0f} s ({reason}): are enough brokers up to agree on it?"
        ) from error
    if reply.name() != "TOPIC_ALREADY_EXISTS":
        advice = REFUSED.get(reply.name(), "`sager doctor` examines the broker")
        raise TopicsDiffer(f"topic {name} cannot be created: {reply.str()}. What to do: {advice}") from error


def _wait_for_leaders(client: AdminClient, made: Sequence[NewTopic]) -> None:
    """Wait for the leaders of new partitions, which refuse records before."""
    left = {TopicPartition(topic.topic, number) for topic in made for number in range(topic.num_partitions)}
    give_up = time.monotonic() + LEADERS_SECONDS
    while left:
        asked = client.list_offsets(dict.fromkeys(left, OffsetSpec.latest()), request_timeout=TIMEOUT_SECONDS)
        left = {partition for partition, future in asked.items() if future.exception(TIMEOUT_SECONDS) is not None}
        if left and time.monotonic() > give_up:
            names = ", ".join(sorted({partition.topic for partition in left}))
            raise KafkaUnreachable(f"these topics have no leader after {LEADERS_SECONDS:.0f} s: {names}")
        time.sleep(0.05 if left else 0)
