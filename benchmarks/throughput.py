"""Measures one worker's cost per contrast, through all its agents, and how far LLM calls overlap.

    python -m benchmarks.throughput rules [--contrasts 3000] [--users 200] [--profile FILE]
    python -m benchmarks.throughput llm [--seconds 30] [--in-flight 64] [--delay 1.0]

The broker is the embedded one unless `--bootstrap` names another. CPU is the worker's own, from /proc; on a shared
machine trust it, and not contrasts per second.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.surroundings import reached_as
from sager_client import EventProducer
from schemas import TOPICS, SkillDiff
from streams.demo import catalogue
from streams.demo.observer import Observer
from streams.kafka import topics
from streams.kafka.clients import client_config
from streams.local.broker import EmbeddedBroker
from streams.local.launch import child
from streams.settings import Settings

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """A process's user and system time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def produce(settings: Settings, contrasts: int, users: int) -> None:
    """Rankings of ten of the built-in films, each with a selection."""
    films = catalogue.load()["films"]
    rng = random.Random(1)
    with EventProducer(connection=reached_as(settings)) as events:
        for number in range(contrasts):
            shown = rng.sample(films, 10)
            ranking = events.ranking(f"user-{number % users}", "films", shown)
            events.selection(ranking, shown[rng.randrange(10)].item_id)


def records(settings: Settings) -> Counter[str]:
    """The number of records on each topic."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition  # noqa: PLC0415

    consumer = Consumer(client_config(settings, **{"group.id": "bench", "enable.auto.commit": False}))
    consumer.assign(
        [
            TopicPartition(settings.topic(base), partition, OFFSET_BEGINNING)
            for base, topic in TOPICS.items()
            for partition in range(topic.partitions(settings.partitions))
        ]
    )
    counts: Counter[str] = Counter()
    heard = time.monotonic()
    while time.monotonic() - heard < 2:
        for message in consumer.consume(5_000, 0.3):
            if message.error() is None:
                counts[(message.topic() or "").removeprefix(settings.prefix)] += 1
                heard = time.monotonic()
    consumer.close()
    return counts


def rules(settings: Settings, args: argparse.Namespace) -> dict[str, object]:
    """Contrasts per second and CPU per contrast with the rules reasoner."""
    worker, observer = _worker(settings)
    warm = 50
    produce(settings, warm, 10)
    observer.wait(lambda: len(observer.seen.diffs) >= warm, "warm-up")
    before, began = cpu_seconds(worker.pid), time.monotonic()
    profiler = _profile(worker.pid, args.profile) if args.profile else None
    produce(settings, args.contrasts, args.users)
    observer.wait(lambda: len(observer.seen.diffs) >= warm + args.contrasts, "diffs")
    seconds, busy = time.monotonic() - began, cpu_seconds(worker.pid) - before
    cpu = _settled(worker.pid) - before
    if profiler:
        profiler.send_signal(signal.SIGINT)
        profiler.wait(30)
    counts = records(settings)
    total = warm + args.contrasts
    worker.terminate()
    worker.wait(30)
    read = ("rankings", "selections", "contrasts", "item-touches")
    written = [base for base in counts if base not in ("rankings", "selections")]
    return {
        "contrasts": args.contrasts,
        "contrasts_per_second": round(args.contrasts / seconds, 1),
        "cpu_ms_per_contrast": round(1000 * cpu / args.contrasts, 2),
        "cores": round(busy / seconds, 2),
        "messages_read_per_contrast": {base: round(counts[base] / total, 2) for base in read},
        "messages_written_per_contrast": {base: round(counts[base] / total, 2) for base in sorted(written)},
    }


def _settled(pid: int) -> float:
    """A process's CPU seconds once it is nearly idle: the graph learns of choices after their diffs."""
    now = cpu_seconds(pid)
    while True:
        time.sleep(2)
        before, now = now, cpu_seconds(pid)
        if now - before < 0.2:
            return now


def llm(settings: Settings, args: argparse.Namespace) -> dict[str, object]:
    """Updates per second with calls of a fixed duration, compared with the ideal of in-flight / duration."""
    server = subprocess.Popen(
        [sys.executable, "tests/openai_server.py", "--port", "0", "--delay", str(args.delay)],
        stdout=subprocess.PIPE,
        text=True,
    )
    url = (server.stdout or sys.stdin).readline().split()[-1]
    own = settings.model_copy(update={"llm_base_url": url})
    worker, observer = _worker(
        Settings(
            **{**settings.model_dump(exclude_unset=True), "reasoner": "llm", "llm_base_url": url},
            in_flight=args.in_flight,
        )
    )
    users = 8 * args.in_flight
    total = int(args.seconds * args.in_flight / args.delay)
    produce(own, total, users)
    observer.wait(lambda: len(observer.seen.diffs) >= args.in_flight, "first diffs")
    began, first, before = time.monotonic(), len(observer.seen.diffs), cpu_seconds(worker.pid)
    enough = first + int((total - first) * 0.95)
    observer.wait(lambda: len(observer.seen.diffs) >= enough, "diffs")
    seconds, cpu = time.monotonic() - began, cpu_seconds(worker.pid) - before
    done = len(observer.seen.diffs) - first
    observer.wait(lambda: len(observer.seen.diffs) >= total, "last diffs")
    worker.terminate()
    worker.wait(60)
    server.terminate()
    return {
        "updates_per_second": round(done / seconds, 1),
        "ideal": args.in_flight / args.delay,
        "share_of_ideal": round(done / seconds / (args.in_flight / args.delay), 3),
        "seconds": round(seconds, 1),
        "cpu_ms_per_update": round(1000 * cpu / done, 2),
        "order_kept": _in_order(list(observer.seen.diffs.values())),
        "by_llm": sum(diff.reasoned_by.reasoner == "llm" for diff in observer.seen.diffs.values()),
        "diffs": len(observer.seen.diffs),
    }


def _in_order(diffs: list[SkillDiff]) -> bool:
    """Whether every user's contrasts evolved in the order of their choices."""
    latest: dict[str, tuple[int, object]] = {}
    for diff in sorted(diffs, key=lambda d: (d.user_id, d.version)):
        known = latest.get(diff.user_id)
        if known is not None and (known[0] + 1 != diff.version or known[1] > diff.occurred_at):  # type: ignore[operator]
            return False
        latest[diff.user_id] = (diff.version, diff.occurred_at)
    return True


def _worker(settings: Settings) -> tuple["subprocess.Popen[bytes]", Observer]:
    topics.ensure(settings)
    worker = child(["worker"], settings, settings.data_dir / "worker.log")

    def check() -> None:
        if worker.poll() is not None:
            raise SystemExit(f"the worker has ended; see {settings.data_dir / 'worker.log'}")

    return worker, Observer(settings, check)


def _profile(pid: int, file: Path) -> "subprocess.Popen[bytes]":
    command = ["py-spy", "record", "-p", str(pid), "-f", "raw", "-o", str(file), "-d", "600"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main() -> None:
    """Runs one benchmark and prints its result as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("rules", "llm"))
    parser.add_argument("--bootstrap", help="a Kafka; by default the embedded broker is started")
    parser.add_argument("--contrasts", type=int, default=3_000)
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--delay", type=float, default=1.0)
    parser.add_argument("--profile", type=Path, help="file for py-spy's raw stacks, if it is installed")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="sager-bench-"))
    run = rules if args.what == "rules" else llm
    common: dict[str, Any] = {
        "data_dir": folder,
        "prefix": f"{folder.name}.",
        "app_id": folder.name,
        "session_seconds": 6,
    }
    if args.bootstrap:
        result = run(Settings(bootstrap=args.bootstrap, rebalance_seconds=8, **common), args)
    else:
        with EmbeddedBroker(folder / "broker.log") as broker:
            settings = Settings(bootstrap=broker.bootstrap, embedded=True, rebalance_seconds=8, **common)
            result = run(settings, args)
    print(json.dumps({"benchmark": args.what, **result}))


if __name__ == "__main__":
    main()
