"""A peer: the same operators in a plain loop over confluent-kafka, with a dict for state.

It writes what the worker writes: contrasts, diffs, slim skills, and its states as the worker's changelogs. Unlike the
worker it evolves a skill as soon as there is a contrast, without reading that back; and it has no fence against a
rebalance, no recovery, no filter of dead letters, no metrics, and forgets nobody.
"""

import argparse
import signal
import threading
import time
from collections.abc import Iterator, MutableMapping
from typing import Any

from confluent_kafka import Consumer, Producer

from benchmarks.peers.learner import INPUTS, Learner
from schemas import Model, Position, encode

BATCH = 500
COMMIT_SECONDS = 0.5


class Kept(MutableMapping[tuple[str, bytes], Model]):
    """States in a dict; those that have changed are produced."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, bytes], Model] = {}
        self.changed: dict[tuple[str, bytes], Model] = {}

    def __getitem__(self, name: tuple[str, bytes]) -> Model:
        return self._held[name]

    def __setitem__(self, name: tuple[str, bytes], value: Model) -> None:
        self._held[name] = self.changed[name] = value

    def __delitem__(self, name: tuple[str, bytes]) -> None:
        del self._held[name]

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


def run(bootstrap: str, prefix: str, over: threading.Event) -> None:
    """Consume until it is over."""
    common = {"bootstrap.servers": bootstrap, "log_level": 2}
    group = {"group.id": f"{prefix}plain", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    # What the worker's producer is set to, too.
    producer = Producer({**common, "enable.idempotence": True, "compression.type": "gzip", "linger.ms": 5})
    consumer = Consumer({**common, **group, "fetch.wait.max.ms": 50})
    consumer.subscribe([prefix + base for base in INPUTS])
    learner, kept, committed, pending = Learner(), Kept(), time.monotonic(), False
    while not over.is_set():
        first = consumer.poll(0.2)
        for message in [] if first is None else [first, *consumer.consume(BATCH, 0)]:
            if message.error() is None:
                _take(message, learner, kept, producer, prefix)
                pending = True
        if pending and time.monotonic() - committed > COMMIT_SECONDS:
            producer.flush()
            consumer.commit(asynchronous=False)
            committed, pending = time.monotonic(), False
    consumer.close()


def _take(message: Any, learner: Learner, kept: Kept, producer: Producer, prefix: str) -> None:
    topic, partition = message.topic(), message.partition()
    position = Position(topic=topic, partition=partition, offset=message.offset(), timestamp_ms=message.timestamp()[1])
    for output in learner.on_record(topic.removeprefix(prefix), message.value(), position, kept):
        producer.produce(prefix + output.base, output.value, output.key, partition)
    for (base, key), value in kept.changed.items():
        producer.produce(prefix + base, encode(value), key, partition)
    kept.changed.clear()
    producer.poll(0)


def main() -> None:
    """Runs until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--prefix", required=True)
    args = parser.parse_args()
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    run(args.bootstrap, args.prefix, over)


if __name__ == "__main__":
    main()
