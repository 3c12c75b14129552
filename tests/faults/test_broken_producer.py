"""What a worker's producer holds when the process freezes: it must not be in the log behind what a successor wrote."""

import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from streams.kafka import topics
from streams.settings import Settings
from streams.worker.runtime.producer import KafkaProducer, RecordPosition
from tests.harness import Harness
from tests.waiting import WAIT_SECONDS, until

pytestmark = [pytest.mark.broker, pytest.mark.timeout(1_800)]

SESSION_SECONDS, RECORDS = 2.0, 20

# A process that is frozen in the very moment in which its producer holds records: linger keeps them there.
FROZEN = """
import asyncio, os, signal, sys
from streams.settings import Settings
from streams.worker.runtime.producer import KafkaProducer

async def main():
    producer = KafkaProducer(Settings(), **{"linger.ms": 500})
    await producer.send(sys.argv[1], 0, b"before", b"")
    sends = [producer.send(sys.argv[1], 0, b"frozen", b"%d" % n) for n in range(int(sys.argv[2]))]
    print("holds", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    outcomes = await asyncio.gather(*sends, return_exceptions=True)
    print(" ".join(type(each).__name__ for each in outcomes), flush=True)
    print(type(await send_again(producer)).__name__, flush=True)

async def send_again(producer):
    while True:
        try:
            return await producer.send(sys.argv[1], 0, b"after", b"")
        except Exception:
            await asyncio.sleep(0.2)

asyncio.run(main())
"""


def environment(settings: Settings, **more: Any) -> dict[str, str]:
    given = {**settings.model_dump(exclude_unset=True), **more}
    return os.environ | {f"SAGER_{name.upper()}": str(value) for name, value in given.items()}


def test_records_queued_through_a_long_freeze_are_not_sent(harness: Harness) -> None:
    """librdkafka would send it when it wakes, for five minutes, whoever has written there since."""
    topic = harness.settings.topic("contrasts")
    with subprocess.Popen(
        [sys.executable, "-c", FROZEN, topic, str(RECORDS)],
        env=environment(harness.settings, session_seconds=SESSION_SECONDS),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "holds"
        until(lambda: os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT), "it to stand still")
        time.sleep(SESSION_SECONDS + 0.5)  # what it is about: the group has given its place to another by now
        harness.raw.produce(topic, b"", b"successor", 0)
        assert harness.raw.flush(WAIT_SECONDS) == 0

        process.send_signal(signal.SIGCONT)

        assert process.stdout.readline().split() == ["DeliveryFailed"] * RECORDS
        assert process.stdout.readline().strip() == RecordPosition.__name__, "and a producer that works takes its place"
    keys = [message.key() for message in harness.quiet().records["contrasts"] if message.partition() == 0]
    assert keys == [b"before", b"successor", b"after"]


async def test_a_producer_that_is_broken_is_replaced_and_loses_nothing_that_is_sent_again(settings: Settings) -> None:
    topics.ensure(settings)
    producer = KafkaProducer(settings)
    first = (await producer.send(settings.topic("contrasts"), 0, b"first", b"")).offset
    [broken] = producer._producers.values()

    from confluent_kafka import KafkaError  # noqa: PLC0415 - only to make one up

    producer._handle_failure(broken, KafkaError(KafkaError.PRODUCER_FENCED))
    second = (await producer.send(settings.topic("contrasts"), 0, b"second", b"")).offset

    assert broken not in producer._producers.values()
    assert second == first + 1
