"""Compares the worker's CPU with a plain loop of its operators.

    python -m benchmarks.plain_loop [--choices 1000] [--times 2]

The loop keeps states in a dict, commits by hand, and writes the records of a worker. The difference is the price of
fences, recovery, dead letters, metrics and erasure. The loop has no graph, so it is compared with the worker without
it. Each candidate runs alone, on its own topics, and every other time in reverse order; the last line has the ratio.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import mean
from typing import Any

from confluent_kafka import Consumer, Producer

from benchmarks.learner import INPUTS, Learner
from benchmarks.running import LOG, Running, worker
from benchmarks.surroundings import ROOT, deployment, end_in_order
from schemas import Model, Position, encode
from streams.local.broker import EmbeddedBroker
from streams.local.children import environment
from streams.settings import Settings

WORKER, BARE, LOOP = "worker", "worker-without-graph", "plain-loop"
BATCH = 500
COMMIT_SECONDS = 0.5


class States(dict[tuple[str, bytes], Model]):
    """States by topic and key; `changed` are not produced yet."""

    def __init__(self) -> None:
        super().__init__()
        self.changed: dict[tuple[str, bytes], Model] = {}

    def __setitem__(self, name: tuple[str, bytes], value: Model) -> None:
        super().__setitem__(name, value)
        self.changed[name] = value


def loop(bootstrap: str, prefix: str) -> None:
    """Consume until SIGTERM."""
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    common = {"bootstrap.servers": bootstrap, "log_level": 2}
    group = {"group.id": f"{prefix}plain", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    # The settings of the worker's producer.
    producer = Producer({**common, "enable.idempotence": True, "compression.type": "gzip", "linger.ms": 5})
    consumer = Consumer({**common, **group, "fetch.wait.max.ms": 50})
    consumer.subscribe([prefix + base for base in INPUTS])
    learner, states, committed, pending = Learner(), States(), time.monotonic(), False
    while not over.is_set():
        first = consumer.poll(0.2)
        for message in [] if first is None else [first, *consumer.consume(BATCH, 0)]:
            if message.error() is None:
                _learn(message, learner, states, producer, prefix)
                pending = True
        if pending and time.monotonic() - committed > COMMIT_SECONDS:
            producer.flush()
            consumer.commit(asynchronous=False)
            committed, pending = time.monotonic(), False
    consumer.close()


def _learn(message: Any, learner: Learner, states: States, producer: Producer, prefix: str) -> None:
    topic, partition = message.topic(), message.partition()
    position = Position(topic=topic, partition=partition, offset=message.offset(), timestamp_ms=message.timestamp()[1])
    for output in learner.on_record(topic.removeprefix(prefix), message.value(), position, states):
        producer.produce(prefix + output.base, output.value, output.key, partition)
    for (base, key), value in states.changed.items():
        producer.produce(prefix + base, encode(value), key, partition)
    states.changed.clear()
    producer.poll(0)


def start_loop(settings: Settings) -> "subprocess.Popen[bytes]":
    """Start the loop in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.plain_loop", "--loop", settings.bootstrap, settings.prefix]
    with (settings.data_dir / LOG).open("wb") as log:
        own = {**environment(settings), "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=settings.data_dir, env=own)


def measured(name: str, bootstrap: str, args: argparse.Namespace) -> dict[str, Any]:
    """One run of one candidate."""
    with (
        tempfile.TemporaryDirectory(prefix="sager-loop-") as folder,
        deployment(Path(folder), bootstrap, embedded=True, propagate=name == WORKER) as settings,
        Running(settings, start_loop if name == LOOP else worker) as running,
    ):
        running.send(args.warm, args.users, "warm")
        running.wait(args.warm, "warm-up")
        before, _ = running.settled()
        began = time.monotonic()
        running.send(args.choices, args.users, "choice")
        running.wait(args.warm + args.choices, "diffs")
        seconds = time.monotonic() - began
        after, _ = running.settled()
    return {
        "candidate": name,
        "choices": args.choices,
        "users": args.users,
        "cpu_ms_per_choice": round(1_000 * (after - before) / args.choices, 3),
        "choices_per_second": round(args.choices / seconds, 1),
    }


def main() -> None:
    """Run the candidates, and print a line each and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--choices", type=int, default=1_000, help="choices measured (default: 1000)")
    parser.add_argument("--warm", type=int, default=200, help="choices before (default: 200)")
    parser.add_argument("--users", type=int, default=100, help="their users (default: 100)")
    parser.add_argument("--times", type=int, default=2, help="runs of each candidate (default: 2)")
    parser.add_argument("--loop", nargs=2, metavar=("BOOTSTRAP", "PREFIX"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.loop:
        loop(*args.loop)
        return
    end_in_order()
    found: dict[str, list[float]] = {WORKER: [], BARE: [], LOOP: []}

    with tempfile.TemporaryDirectory(prefix="sager-loops-") as place, EmbeddedBroker(Path(place) / "log") as broker:
        for turn in range(args.times):
            for name in list(found)[:: -1 if turn % 2 else 1]:
                line = measured(name, broker.bootstrap, args)
                found[name].append(line["cpu_ms_per_choice"])
                print(json.dumps(line), flush=True)
    print(json.dumps({"worker_choices_per_cpu_second_over_loop": round(mean(found[LOOP]) / mean(found[BARE]), 3)}))


if __name__ == "__main__":
    main()
