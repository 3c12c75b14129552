"""The worker's one producer, as far as it shows without a broker: what it is made of, and what it does without one."""

import asyncio
import logging
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from streams.kafka.clients import PARTITIONER
from streams.worker.runtime import membership
from streams.worker.runtime.membership import Membership
from streams.worker.runtime.producer import (
    DeliveryFailed,
    KafkaProducer,
    MessageSizeTooLarge,
    QueueFull,
    RecordPosition,
)
from tests.fake_log import FakeDeployment, settings_in
from tests.unit.worker.test_worker_exactly_once import assert_undisturbed, choices, put
from tests.waiting import WAIT_SECONDS


@pytest.mark.parametrize(
    ("topic", "compression", "used"),
    [
        ("slim-skills", "gzip", "gzip"),
        ("slim-skills", "lz4", "lz4"),
        ("skills", "gzip", "zstd"),
        ("skills", "none", "zstd"),
    ],
)
async def test_it_neither_loses_nor_repeats_and_compresses_by_topic(
    tmp_path: Path, topic: str, compression: str, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: dict[str, Any] = {}
    monkeypatch.setattr("confluent_kafka.Producer", lambda config: made.update(config) or MagicMock())
    producer = KafkaProducer(settings_in(tmp_path, session_seconds=10, compression=compression))
    producer.send(f"t.{topic}", 0, b"key", b"value")

    assert (made["enable.idempotence"], made["acks"], made["partitioner"]) == (True, "all", PARTITIONER)
    assert made["max.in.flight.requests.per.connection"] == 1
    assert made["compression.type"] == used
    assert made["message.timeout.ms"] == 7_000, "with the lease of which it takes the rest, no longer than the session"


async def test_an_undeliverable_record_fails(tmp_path: Path) -> None:
    producer = KafkaProducer(settings_in(tmp_path, session_seconds=1))

    with pytest.raises(DeliveryFailed):
        await producer.send("t.contrasts", 0, b"key", b"value")


async def test_a_record_that_no_topic_takes_is_refused_at_once(tmp_path: Path) -> None:
    producer = KafkaProducer(settings_in(tmp_path))

    with pytest.raises(MessageSizeTooLarge):
        await producer.send("t.contrasts", 0, b"key", bytes(5 * 1024 * 1024))


async def test_a_full_queue_raises_queue_full(tmp_path: Path) -> None:
    producer = KafkaProducer(settings_in(tmp_path), **{"queue.buffering.max.messages": 2})
    taken = [producer.send("t.contrasts", 0, b"key", b"value") for _ in range(2)]

    with pytest.raises(QueueFull):
        producer.send("t.contrasts", 0, b"key", b"value")

    for each in taken:
        each.cancel()


async def test_a_full_queue_is_waited_for_and_nothing_is_dropped(
    deployment: FakeDeployment, caplog: pytest.LogCaptureFixture
) -> None:
    worker = deployment.worker()
    send, held = worker.parts.producer.kafka.send, [0]

    def now_and_then_full(*record: Any) -> asyncio.Future[RecordPosition]:
        held[0] += 1
        if held[0] % 3:
            raise QueueFull
        return send(*record)

    worker.parts.producer.kafka.send = now_and_then_full  # type: ignore[method-assign, assignment]
    made = choices(6)
    with caplog.at_level(logging.WARNING):
        put(deployment.log, made)
        await worker.quiet()

    assert_undisturbed(deployment.log, made)
    assert "failed" not in caplog.text


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at = 1_000.0
        monkeypatch.setattr(membership, "now", lambda: self.at)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def joined(clock: Clock, session: float = 10.0, rebalance: float = 60.0) -> Membership:
    member = Membership(session, rebalance)
    member.confirm(clock.at)
    return member


async def test_after_a_pause_the_next_heartbeat_is_waited_for(clock: Clock) -> None:
    member = joined(clock)
    clock.at += 10.1
    asked = asyncio.create_task(member.wait_until_sendable())
    await asyncio.sleep(0.1)
    assert not asked.done()

    member.confirm(clock.at)

    assert await asyncio.wait_for(asked, WAIT_SECONDS)


async def test_a_removed_member_must_not_send(clock: Clock) -> None:
    member = joined(clock)
    clock.at += 10.1
    asked = asyncio.create_task(member.wait_until_sendable())
    await asyncio.sleep(0.1)

    member.lose()

    assert not await asyncio.wait_for(asked, WAIT_SECONDS)
    member.confirm(clock.at)
    assert await member.wait_until_sendable()


async def test_heartbeats_do_not_keep_alive_a_member_that_does_not_join_the_rebalance(clock: Clock) -> None:
    member = joined(clock, session=10, rebalance=30)
    for _ in range(7):
        clock.at += 5
        member.confirm(clock.at, rebalancing=True)

    assert not member.is_sure
    assert not await asyncio.wait_for(member.wait_until_sendable(), WAIT_SECONDS), "the rebalance waits for us: give up"


async def test_a_send_arrives_or_expires_before_the_lease_ends(clock: Clock) -> None:
    member = Membership(10, 60, delivery_seconds=7)
    member.confirm(clock.at)
    clock.at += 2.9
    assert member.may_send

    clock.at += 0.2

    assert not member.may_send
    assert member.is_sure
