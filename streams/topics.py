"""Topics made and checked against the registry, before anything else starts."""

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType

from schemas.topics import TOPICS, Topic
from streams.exceptions import BrokerUnreachable, TopicsDiffer
from streams.kafka import client_config, reach
from streams.settings import Settings

TIMEOUT_SECONDS = 15.0


@dataclass(frozen=True)
class TopicState:
    """One topic as the broker has it, next to what the registry wants.

    `partitions` is None where the topic does not exist; `differs` says in words what is wrong.
    """

    topic: Topic
    name: str
    partitions: int | None
    differs: tuple[str, ...] = ()


def admin(settings: Settings) -> AdminClient:
    """An admin client of the configured cluster."""
    return AdminClient(client_config(settings))


def inspect(settings: Settings) -> list[TopicState]:
    """How every topic of the registry stands on the broker.

    Raises:
        BrokerUnreachable: nobody answers, or TLS or SASL does not come about.
    """
    client, cluster = reach(settings, TIMEOUT_SECONDS)
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
            differs.append(f"has {found} partitions instead of {wanted}")
        policy = policies.get(name)
        if policy is not None and policy != topic.config()["cleanup.policy"]:
            differs.append(f"has cleanup.policy={policy} instead of {topic.config()['cleanup.policy']}")
        states.append(TopicState(topic, name, found, tuple(differs)))
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
    """Create what is missing, and wait until all that was made can be used; the names of the topics made.

    Raises:
        BrokerUnreachable: nobody answers.
        TopicsDiffer: a topic exists with another partition count or clean-up policy; it is left as it is.
    """
    states = inspect(settings)
    wrong = [f"{state.name} {' and '.join(state.differs)}" for state in states if state.differs]
    if wrong:
        raise TopicsDiffer(
            f"topics differ from the registry: {'; '.join(wrong)}. "
            "Set SAGER_PARTITIONS to the partition count that exists, use another SAGER_PREFIX, "
            "or alter the topics with Kafka's own tools"
        )
    missing = [state for state in states if state.partitions is None]
    if missing:
        _create(settings, missing)
    return [state.name for state in missing]


def _create(settings: Settings, missing: Sequence[TopicState]) -> None:
    wanted = [
        NewTopic(
            state.name,
            num_partitions=state.topic.partitions(settings.partitions),
            replication_factor=settings.replication,
            config=state.topic.config(),
        )
        for state in missing
    ]
    client = admin(settings)  # held by name: its futures die with it
    futures: dict[str, Future[None]] = client.create_topics(wanted, operation_timeout=TIMEOUT_SECONDS)
    for name, future in futures.items():
        try:
            future.result(TIMEOUT_SECONDS)
        except KafkaException as error:
            if error.args[0].name() != "TOPIC_ALREADY_EXISTS":
                raise TopicsDiffer(f"topic {name} cannot be created: {error.args[0].str()}") from error
    _wait_for_leaders(client, wanted)


def _wait_for_leaders(client: AdminClient, made: Sequence[NewTopic]) -> None:
    """A topic is made before its partitions' leaders know of it, and until then they refuse what is sent to them.

    Raises:
        BrokerUnreachable: after 15 s some are still without one.
    """
    left = {TopicPartition(topic.topic, number) for topic in made for number in range(topic.num_partitions)}
    give_up = time.monotonic() + TIMEOUT_SECONDS
    while left:
        asked = client.list_offsets(dict.fromkeys(left, OffsetSpec.latest()), request_timeout=TIMEOUT_SECONDS)
        left = {partition for partition, future in asked.items() if future.exception(TIMEOUT_SECONDS) is not None}
        if left and time.monotonic() > give_up:
            names = ", ".join(sorted({partition.topic for partition in left}))
            raise BrokerUnreachable(f"these topics have no leader after {TIMEOUT_SECONDS:.0f} s: {names}")
        time.sleep(0.05 if left else 0)
