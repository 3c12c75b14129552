"""Every topic is readable by any Kafka client: JSON values, in batches that librdkafka decompresses."""

import json
from collections import defaultdict
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from operators.graph.items import NO_REPLY
from schemas import TOPICS, Receipt, SkillDiff
from streams.settings import Settings
from tests.builders import slate
from tests.golden import golden, wire
from tests.harness import Harness

pytestmark = [pytest.mark.on("kafka"), pytest.mark.broker]

BY_COMMAND = {"global-skills", "weight-commands", "weights", "outcomes", "skill-commands", "card-commands"}
"""Topics that people's commands fill, and those that follow from rankings of ours."""


def run(harness: Harness) -> None:
    """Three users take films and say what they think; one of them is forgotten."""
    events = harness.events
    harness.worker(graph_flush_seconds=0)
    for user in ("ann", "bob", "cem"):
        events.interaction(user, "films", slate(1)[0])
        for number in range(1, 4):
            ranking = events.ranking(user, "films", slate(number))
            events.selection(ranking, slate(number)[2]["item_id"])
    events.item("films", slate(1)[0])
    events.none_of_these(events.ranking("bob", "films", slate(5)))
    events.feedback("bob", "films", slate(1)[1], "liked")
    events.utterance("bob", "breakfast", 0, "I love marmalade.", language="en", ends=True)
    events.utterance("bob", "outdoors", 0, "I love kites.", language="en")
    harness.raw.produce(harness.settings.topic("items"), b"no JSON", b"item", partition=0)
    harness.raw.produce(harness.settings.topic("selections"), b"{", b"cem", partition=0)
    for base in ("rank-requests", "corrections"):
        harness.raw.produce(harness.settings.topic(base), wire(base), golden(base)["user_id"])
    harness.raw.flush(30)
    events.flush()
    harness.count(SkillDiff, 11)
    events.forget("cem", actor="cem")
    events.flush()
    harness.count(Receipt, 1)
    harness.quiet()


def read_plainly(settings: Settings) -> dict[str, list[bytes | None]]:
    """All values by topic, read with nothing but a bootstrap server."""
    consumer = Consumer(
        {"bootstrap.servers": settings.bootstrap, "group.id": "any", "enable.partition.eof": True, "log_level": 2}
    )
    found: dict[str, list[bytes | None]] = defaultdict(list)
    try:
        topics = consumer.list_topics(timeout=10).topics
        names = [name for name in topics if name.startswith(settings.prefix)]
        places = [TopicPartition(name, partition, 0) for name in names for partition in topics[name].partitions]
        consumer.assign(places)
        ends = 0
        while ends < len(places):
            for message in consumer.consume(500, 10):
                error = message.error()
                if error is None:
                    found[str(message.topic()).removeprefix(settings.prefix)].append(message.value())
                else:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    ends += 1
    finally:
        consumer.close()
    return found


def test_every_value_is_json_for_a_client_that_knows_nothing_of_us(settings: Settings) -> None:
    with Harness(settings) as harness:
        run(harness)
        for base in BY_COMMAND:
            harness.raw.produce(settings.topic(base), wire(base), b"key", partition=0)
        harness.raw.flush(30)
        found = read_plainly(settings)

    assert set(found) == set(TOPICS), "every topic has records"
    for base, values in found.items():
        for value in values:
            if value is None or value in (b"no JSON", b"{"):
                continue
            record: Any = json.loads(value)
            assert isinstance(record, dict) or (base == "item-memories" and record != NO_REPLY), (base, value)
