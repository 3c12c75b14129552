"""A topic that is written all the time is read to its end: readers start, and commands end."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from benchmarks.surroundings import reached_as
from sager_client import SlimSkills
from sager_client.follower import RequestedRankings
from schemas import Ranking, SlimSkill, Weights
from streams.kafka.clients import producer_config
from streams.kafka.follower import Follower
from streams.kafka.scanner import Scanner
from streams.settings import Settings
from streams.webhooks.delivery import Reader, now_ms
from tests.harness import Harness

pytestmark = pytest.mark.broker

SECONDS = 20.0
BEFORE = 50


@pytest.fixture
def busy(harness: Harness) -> Iterator[Settings]:
    """A deployment with partitions that have records already and get one every 10 ms."""
    over = threading.Event()
    producer = Producer({**producer_config(harness.settings), "linger.ms": 0})
    topics = [harness.settings.topic(base) for base in (Weights.TOPIC, SlimSkill.TOPIC, Ranking.TOPIC)]

    def write() -> None:
        while not over.wait(0.01):
            for topic in topics:
                producer.produce(topic, b"later", b"key", partition=1)
            producer.poll(0)

    for number, topic in itertools.product(range(BEFORE), topics):
        producer.produce(topic, b"before", str(number), partition=1)
    producer.flush(10)
    writer = threading.Thread(target=write)
    writer.start()
    yield harness.settings
    over.set()
    writer.join()
    producer.flush(10)


def ends(work: Callable[[], Any]) -> bool:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(SECONDS)
    return not thread.is_alive()


def test_a_follower_becomes_ready(busy: Settings) -> None:
    taken: list[bytes | None] = []
    follower = Follower(busy, [Weights.TOPIC], lambda message: taken.append(message.value()))

    assert ends(follower.read_all)

    assert taken[:BEFORE] == [b"before"] * BEFORE
    until = len(taken)
    while len(taken) == until:  # it goes on
        time.sleep(0.01)
    follower.stop()


def test_a_scan_ends(busy: Settings) -> None:
    read: list[bytes | None] = []

    def scan() -> None:
        with Scanner(busy) as scanner:
            read.extend(message.value() for message in scanner.read(scanner.partitions(Weights.TOPIC)))

    assert ends(scan)

    assert read[:BEFORE] == [b"before"] * BEFORE


def test_an_endpoint_is_up_to_date(busy: Settings) -> None:
    began = now_ms()
    reader = Reader(busy, "test")
    reader.seek(dict.fromkeys(range(busy.partitions), 0))

    def read() -> None:
        while reader.read_until_ms < began:
            reader.read()
            time.sleep(0.01)

    assert ends(read)
    assert reader._unread  # no end was reported
    reader.close()


def test_an_app_has_all_slim_skills_and_waits_for_rankings(busy: Settings) -> None:
    skills, rankings = SlimSkills(connection=reached_as(busy)), RequestedRankings(reached_as(busy))

    skills.start(SECONDS)
    rankings.follow(SECONDS)

    assert skills.ready
    skills.close()
    rankings.close()
