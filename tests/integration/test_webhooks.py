"""The reader of webhooks on a real broker: it goes back to a cursor, and knows the end of the topic."""

import threading
import time

import pytest
from confluent_kafka import Producer

from schemas import compound_key, encode
from streams.kafka import topics
from streams.kafka.clients import partition_of, producer_config
from streams.settings import Settings
from streams.webhooks.delivery import Reader, now_ms
from streams.webhooks.messages import Notification
from tests.unit.webhooks.test_webhooks_parts import slim
from tests.waiting import WAIT_SECONDS

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]


def put(settings: Settings, *users: str) -> None:
    producer = Producer(producer_config(settings))
    for version, user in enumerate(users):
        key, partition = compound_key(user, "films"), partition_of(user, settings.partitions)
        producer.produce(settings.topic("slim-skills"), encode(slim(user, version=version)), key, partition)
    assert producer.flush(WAIT_SECONDS) == 0


def read_to_end(reader: Reader) -> list[Notification]:
    found, began = list[Notification](), now_ms()
    give_up = time.monotonic() + WAIT_SECONDS
    while reader.read_until_ms < began:
        assert time.monotonic() < give_up
        found += reader.read()
        time.sleep(0.05)
    return found


def test_a_reader_goes_back_to_a_cursor_and_knows_the_end(settings: Settings) -> None:
    topics.ensure(settings)
    put(settings, "ann", "bob", "ann", "cem")
    reader = Reader(settings, "test")
    try:
        ends, committed, _ = reader.progress(threading.Event())
        beginning = dict.fromkeys(range(settings.partitions), 0)
        assert (ends.keys(), committed) == (beginning.keys(), {})
        reader.commit(ends, 5)
        reader.seek(beginning)
        first = read_to_end(reader)
        assert sorted(each.subject for each in first if each.subject) == [
            (user, "films") for user in ("ann", "ann", "bob", "cem")
        ]

        reader.seek(beginning)
        assert reader.read_until_ms == 0
        again = read_to_end(reader)
        assert sorted(each.key + str(each.offset).encode() for each in again) == sorted(
            each.key + str(each.offset).encode() for each in first
        )

        newest = {each.partition: each.offset + 1 for each in sorted(first, key=lambda each: each.offset)}
        reader.seek(beginning | newest)
        assert read_to_end(reader) == []
        put(settings, "dan")
        give_up = time.monotonic() + WAIT_SECONDS
        while not (found := reader.read()):
            assert time.monotonic() < give_up
            time.sleep(0.05)
        assert [each.subject for each in found] == [("dan", "films")]
    finally:
        reader.close()
