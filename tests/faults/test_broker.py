"""Brokers that are killed, stay away, or are lost one by one, under load: everything resumes, and nothing is lost."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from infra.kafka.kafka import Kafka
from schemas import CONSUMED_TOPICS, SkillDiff
from streams.kafka import topics
from streams.settings import Settings
from streams.worker.runtime.watchdog import Watchdog
from tests.conftest import APACHE, a_deployment
from tests.faults.load import Load
from tests.faults.oracle import Run, times
from tests.faults.test_kills import BROKER
from tests.harness import Harness

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.broker,
    pytest.mark.timeout(1_800),
    pytest.mark.skipif(not APACHE, reason="the embedded broker forgets everything when it ends"),
]

ABSENT_SECONDS = 20.0


@pytest.fixture
def on(tmp_path: Path) -> Iterator[Callable[[int], tuple[Kafka, Harness]]]:
    opened: list[Harness | Kafka] = []

    def start(brokers: int) -> tuple[Kafka, Harness]:
        kafka = Kafka(brokers=brokers, log=tmp_path / "kafka.log", heap_mb=320)
        opened.append(kafka)
        kafka.start()
        harness = Harness(a_deployment(tmp_path, bootstrap=kafka.bootstrap, replication=min(3, brokers)))
        opened.append(harness)
        return kafka, harness

    yield start
    for each in reversed(opened):
        each.__exit__(None, None, None)


def wait_for_every_partition(harness: Harness, since: float) -> float:
    """Seconds from a moment of the wall clock until each partition has a diff that was made after it."""

    def recent(outputs: object) -> set[int]:
        found = harness.outputs.records.get(SkillDiff.TOPIC, [])
        return {message.partition() for message in found if message.timestamp()[1] > since * 1000}

    harness.until(lambda out: len(recent(out)) == harness.settings.partitions, "new diffs on all partitions")
    return time.time() - since


@pytest.mark.seldom
def test_a_broker_is_killed_and_restarts(on: Callable[[int], tuple[Kafka, Harness]]) -> None:
    rounds = times(short=1, full=2)
    run = Run("the only broker: kill -9 and restart, seconds from the kill", BROKER, rounds)
    kafka, harness = on(1)
    harness.worker()
    harness.materializer()
    with Load(harness.settings, per_second=8) as load:
        wait_for_every_partition(harness, time.time())
        for _ in range(rounds):
            killed = time.time()
            kafka.kill()
            kafka.start()
            run.recovery_seconds.append(wait_for_every_partition(harness, max(killed, time.time() - 1)))
            run.recovery_seconds[-1] = time.time() - killed

    load.assert_undisturbed(harness, run, may_be_resent=True)


def test_a_broker_that_is_absent_for_long(on: Callable[[int], tuple[Kafka, Harness]]) -> None:
    rounds = times(short=1, full=1)
    run = Run(f"the only broker: {ABSENT_SECONDS:.0f} s away, seconds from its return", BROKER, rounds)
    kafka, harness = on(1)
    harness.worker()
    harness.materializer()
    with Load(harness.settings, per_second=8) as load:
        for _ in range(rounds):
            wait_for_every_partition(harness, time.time())
            kafka.stop()
            time.sleep(ABSENT_SECONDS)
            kafka.start()
            run.recovery_seconds.append(wait_for_every_partition(harness, time.time()))

    load.assert_undisturbed(harness, run, may_be_resent=True)


@pytest.mark.seldom
def test_a_cluster_that_loses_one_of_three_brokers(on: Callable[[int], tuple[Kafka, Harness]]) -> None:
    """First the one that coordinates the workers' group, then one that leads a partition of the log."""
    rounds = times(short=1, full=1)
    run = Run("one of three brokers killed (group's coordinator, log's leader), and back", BROKER, 2 * rounds)
    kafka, harness = on(3)
    admin, watchdog = topics.admin(harness.settings), impatient_watchdog(harness.settings)
    harness.peer("w0")
    harness.peer("w1")
    harness.materializer()
    with Load(harness.settings, per_second=8) as load:
        wait_for_every_partition(harness, time.time())
        for turn in range(rounds):
            for find in (coordinator, leader):
                lost = find(harness.settings, admin, turn)
                killed = time.time()
                kafka.kill(lost)
                # Nobody waits for it to come back.
                harness.until(lambda _: watchdog.is_stuck(), "the watchdog to hear of lag again")
                run.recovery_seconds.append(wait_for_every_partition(harness, killed))
                kafka.start()
                wait_until_in_sync(harness, admin)

    load.assert_undisturbed(harness, run, may_be_resent=True)


def impatient_watchdog(settings: Settings) -> Watchdog:
    """One that finds a worker stuck as soon as it is told of lag twice; it ends nobody."""
    sources = {(settings.topic(base), number) for base in CONSUMED_TOPICS for number in range(settings.partitions)}
    impatient = settings.model_copy(update={"watchdog_seconds": 0.1})
    return Watchdog(impatient, lambda: float("-inf"), lambda: sources, lambda _: None)


def coordinator(settings: Settings, admin: AdminClient, turn: int) -> int:
    for _ in range(60):
        # A new client each time: one that knows another coordinator goes on asking that one.
        asking = topics.admin(settings)
        with suppress(KafkaException, TimeoutError):
            return int(asking.describe_consumer_groups([settings.app_id])[settings.app_id].result(10).coordinator.id)
        time.sleep(0.5)
    raise AssertionError("the group has no coordinator")


def leader(settings: Settings, admin: AdminClient, turn: int) -> int:
    where = TopicPartition(settings.topic(SkillDiff.TOPIC), turn % settings.partitions)
    return int(admin.list_topics(where.topic, timeout=10).topics[where.topic].partitions[where.partition].leader)


def wait_until_in_sync(harness: Harness, admin: AdminClient) -> None:
    def behind() -> list[str]:
        ours = admin.list_topics(timeout=10).topics
        return [
            name
            for name, topic in ours.items()
            if any(len(each.isrs) < len(each.replicas) for each in topic.partitions.values())
        ]

    harness.until(lambda _: not behind(), "all replicas to be in sync")
