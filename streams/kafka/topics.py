"""Topics made and checked against the registry, before anything else starts."""

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ClusterMetadata, ConfigResource, NewTopic, OffsetSpec, ResourceType

from schemas.topics import TOPICS, Topic
from streams.exceptions import BrokerUnreachable, TopicsDiffer
from streams.kafka.clients import client_config, reach
from streams.settings import Settings

TIMEOUT_SECONDS = 15.0
LEADERS_SECONDS = 60.0
"""How long leader election of new topics may take: a broker that has just started elects many at once."""
SPARE_SECONDS = 5.0
"""A request that is not answered in time fails by itself; its future is waited for a little longer."""
SAFE_REPLICATION, SAFE_IN_SYNC = 3, 2
"""From this replication factor on, a write is acknowledged once two replicas have it: losing one broker is harmless."""

REFUSED = {
    "TOPIC_AUTHORIZATION_FAILED": "grant the user Create on topics with this prefix, or let one who has it run "
    "`sager topics --create` once",
    "CLUSTER_AUTHORIZATION_FAILED": "grant the user Create on topics with this prefix, or let one who has it run "
    "`sager topics --create` once",
    "INVALID_REPLICATION_FACTOR": "set SAGER_REPLICATION to no more than there are brokers, or start the others",
    "POLICY_VIOLATION": "the brokers' policy forbids it: alter SAGER_REPLICATION or SAGER_PARTITIONS as it says, or "
    "make the topic with Kafka's own tools",
}
"""What to do when the broker refuses to create a topic, by its error's name."""
_SILENCE = (KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError.REQUEST_TIMED_OUT)


@dataclass(frozen=True)
class TopicState:
    """One topic as the broker has it, next to what the registry wants.

    `partitions` is None where the topic does not exist; `differs` says in words what is wrong.
    """

    topic: Topic
    name: str
    partitions: int | None
    differs: tuple[str, ...] = ()
    has_other_partitions: bool = False
    has_other_policy: bool = False


def admin(settings: Settings) -> AdminClient:
    """An admin client of the configured cluster."""
    return AdminClient(client_config(settings))


def inspect(settings: Settings) -> list[TopicState]:
    """The state of every topic of the registry on the broker.

    Raises:
        BrokerUnreachable: no broker answers, or the TLS or SASL handshake failed.
    """
    return compare(settings, *reach(settings, TIMEOUT_SECONDS))


def compare(settings: Settings, client: AdminClient, cluster: ClusterMetadata) -> list[TopicState]:
    """The same, of a cluster that has just been reached."""
    existing = cluster.topics
    names = {topic.name(settings.prefix): topic for topic in TOPICS.values()}
    policies = _cleanup_policies(client, [name for name in names if name in existing])
    states = []
    for name, topic in names.items():
        if name not in existing:
            states.append(TopicState(topic, name, None))
            continue
        found = len(existing[name].partitions)
        wanted = topic.partitions(settings.partitions)
        differs = []
        if found != wanted:
            differs.append(f"has {found} partition{'s'[: found != 1]} instead of {wanted}")
        needed = topic.config()["cleanup.policy"]
        policy = policies.get(name, needed)
        if policy != needed:
            differs.append(f"has cleanup.policy={policy} instead of {needed}")
        states.append(TopicState(topic, name, found, tuple(differs), found != wanted, policy != needed))
    return states


def _cleanup_policies(client: AdminClient, names: Sequence[str]) -> dict[str, str]:
    if not names:
        return {}
    asked = client.describe_configs([ConfigResource(ResourceType.TOPIC, name) for name in names])
    policies: dict[str, str] = {}
    for resource, future in asked.items():
        try:
            entries = future.result(TIMEOUT_SECONDS)
        except KafkaException:
            # A broker that does not describe configurations, or forbids it, cannot be checked.
            continue
        if "cleanup.policy" in entries and entries["cleanup.policy"].value:
            policies[resource.name] = entries["cleanup.policy"].value
    return policies


def ensure(settings: Settings) -> list[str]:
    """Create missing topics and wait until they can be used; the names of those created.

    Raises:
        BrokerUnreachable: no broker answers.
        TopicsDiffer: a topic exists with another partition count or clean-up policy; it is left as it is.
    """
    states = inspect(settings)
    wrong = [state for state in states if state.differs]
    if wrong:
        raise TopicsDiffer(_told(settings, wrong))
    missing = [state for state in states if state.partitions is None]
    if missing:
        _create(settings, missing)
    return [state.name for state in missing]


def _told(settings: Settings, wrong: Sequence[TopicState]) -> str:
    """Which topics are not as they must be, and what to do about each kind of difference."""
    counts = {s.partitions for s in wrong if s.has_other_partitions and not s.topic.single_partition}
    advice = [f"set SAGER_PARTITIONS={found} if all have that count" for found in counts if len(counts) == 1]
    if any(state.has_other_partitions for state in wrong):
        advice.append(
            "topics that hold nothing yet can be deleted and are made anew; for others use another SAGER_PREFIX, "
            "because added partitions part users from their state"
        )
    advice += [
        f"kafka-configs.sh --bootstrap-server {settings.bootstrap} --alter --topic {state.name} "
        f"--add-config cleanup.policy={state.topic.config()['cleanup.policy']}"
        for state in wrong
        if state.has_other_policy
    ]
    found = "; ".join(f"{state.name} {' and '.join(state.differs)}" for state in wrong)
    return f"these topics differ from what this release needs: {found}. What to do: {'; '.join(advice)}"


def _create(settings: Settings, missing: Sequence[TopicState]) -> None:
    wanted = [
        NewTopic(
            state.name,
            num_partitions=state.topic.partitions(settings.partitions),
            replication_factor=settings.replication,
            config=state.topic.config() | _durability(settings),
        )
        for state in missing
    ]
    client = admin(settings)  # held by name: its futures die with it
    futures: dict[str, Future[None]] = client.create_topics(
        wanted, operation_timeout=TIMEOUT_SECONDS, request_timeout=TIMEOUT_SECONDS
    )
    for name, future in futures.items():
        try:
            future.result(TIMEOUT_SECONDS + SPARE_SECONDS)
        except (KafkaException, TimeoutError) as error:
            _raise_unless_made(name, error)
    _wait_for_leaders(client, wanted)


def _durability(settings: Settings) -> dict[str, str]:
    """Topic settings that keep acknowledged records with this replication factor."""
    return {"min.insync.replicas": str(SAFE_IN_SYNC)} if settings.replication >= SAFE_REPLICATION else {}


def _raise_unless_made(name: str, error: Exception) -> None:
    reply: KafkaError | None = error.args[0] if isinstance(error, KafkaException) else None
    if reply is None or reply.code() in _SILENCE:
        why = reply.str() if reply is not None else "no answer"
        raise BrokerUnreachable(
            f"topic {name} is not made within {TIMEOUT_SECONDS:.0f} s ({why}): are enough brokers up to agree on it?"
        ) from error
    if reply.name() != "TOPIC_ALREADY_EXISTS":
        advice = REFUSED.get(reply.name(), "`sager doctor` examines the broker")
        raise TopicsDiffer(f"topic {name} cannot be created: {reply.str()}. What to do: {advice}") from error


def _wait_for_leaders(client: AdminClient, made: Sequence[NewTopic]) -> None:
    """Wait for leaders: a new topic's partitions refuse records until they have one.

    Raises:
        BrokerUnreachable: after a minute some are still without one.
    """
    left = {TopicPartition(topic.topic, number) for topic in made for number in range(topic.num_partitions)}
    give_up = time.monotonic() + LEADERS_SECONDS
    while left:
        asked = client.list_offsets(dict.fromkeys(left, OffsetSpec.latest()), request_timeout=TIMEOUT_SECONDS)
        left = {partition for partition, future in asked.items() if future.exception(TIMEOUT_SECONDS) is not None}
        if left and time.monotonic() > give_up:
            names = ", ".join(sorted({partition.topic for partition in left}))
            raise BrokerUnreachable(f"these topics have no leader after {LEADERS_SECONDS:.0f} s: {names}")
        time.sleep(0.05 if left else 0)
