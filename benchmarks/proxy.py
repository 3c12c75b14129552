"""Measures the journal's proxy of `sager up`: events per second and CPU with it, and without it in the same run.

    python -m benchmarks.proxy [--events 20000] [--rounds 5] [--one-by-one] [--json]

With --one-by-one each event waits for the acknowledgement of the one before, else the producer makes batches.

Two embedded brokers take the same selections from the same producer, in turns: one is alone, and the proxy stands
before the other. Take the ratios: events per second depend on the machine and its other work.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from confluent_kafka import Producer

from benchmarks.processes import children_of, cpu_seconds
from schemas import Selection, encode
from streams.kafka import topics
from streams.kafka.clients import producer_config
from streams.local.broker import EmbeddedBroker, free_port
from streams.local.journal import folder_of
from streams.local.launch import environment
from streams.settings import Settings

FLUSH_SECONDS = 120.0
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@contextmanager
def before_a_proxy(settings: Settings) -> Iterator[int]:
    """A proxy with its broker and an empty journal; gives its process id."""
    port = settings.bootstrap.rpartition(":")[2]
    log = settings.data_dir / "broker.log"
    command = [sys.executable, "-P", "-m", "streams.local.proxy", port, str(free_port()), str(log)]
    with (
        log.open("wb") as out,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=out, env=environment(settings)) as proxy,
    ):
        try:
            if proxy.stdin is not None:
                os.write(proxy.stdin.fileno(), b"\n")
            yield proxy.pid
        finally:
            proxy.terminate()


def produce(settings: Settings, events: int, begin: int, *, one_by_one: bool) -> float:
    """Send selections until all are acknowledged; the seconds that it took."""
    producer = Producer(producer_config(settings, **({"linger.ms": 0} if one_by_one else {})))
    name, began = settings.topic(Selection.TOPIC), time.perf_counter()
    for number in range(begin, begin + events):
        user = f"user-{number % 200}"
        event = Selection(
            event_id=f"s{number}", occurred_at=NOW, user_id=user, ranking_id=f"r{number}", item_id=f"i{number % 500}"
        )
        producer.produce(name, encode(event), user)
        if one_by_one:
            producer.flush(FLUSH_SECONDS)
        else:
            producer.poll(0)
    if producer.flush(FLUSH_SECONDS):
        raise SystemExit("the broker did not acknowledge all events")
    return time.perf_counter() - began


def measure(events: int, rounds: int, *, one_by_one: bool) -> dict[str, float]:
    """Medians over the rounds."""
    with tempfile.TemporaryDirectory() as folder, EmbeddedBroker(Path(folder) / "alone.log") as alone:
        kept = Path(folder) / "kept"
        kept.mkdir()
        common = Settings(embedded=True, partitions=4, data_dir=kept)
        without = common.model_copy(update={"bootstrap": alone.bootstrap})
        through = common.model_copy(update={"bootstrap": f"127.0.0.1:{free_port()}"})
        with before_a_proxy(through) as proxy:
            topics.ensure(through)
            topics.ensure(without)
            [broker] = children_of(proxy)
            rates: dict[str, list[float]] = {"without": [], "through": []}
            spent, its_brokers = 0.0, 0.0
            for round_ in range(rounds + 1):
                before, before_broker = cpu_seconds(proxy), cpu_seconds(broker)
                taken = {
                    name: produce(settings, events, round_ * events, one_by_one=one_by_one)
                    for name, settings in (("without", without), ("through", through))
                }
                if round_:  # the first one warms up
                    spent += cpu_seconds(proxy) - before
                    its_brokers += cpu_seconds(broker) - before_broker
                    for name, seconds in taken.items():
                        rates[name].append(events / seconds)
            size = sum(file.stat().st_size for file in folder_of(through).iterdir() if file.is_file())
            journal = round(size / (events * (rounds + 1)))
    ratios = [b / a for a, b in zip(rates["without"], rates["through"], strict=True)]
    return {
        "events": events,
        "rounds": rounds,
        "without_per_second": round(statistics.median(rates["without"])),
        "through_per_second": round(statistics.median(rates["through"])),
        "through_to_without": round(statistics.median(ratios), 2),
        "least_ratio": round(min(ratios), 2),
        "most_ratio": round(max(ratios), 2),
        "proxy_cpu_us_per_event": round(1e6 * spent / (events * rounds), 1),
        "journal_bytes_per_event": journal,
        "its_broker_cpu_us_per_event": round(1e6 * its_brokers / (events * rounds), 1),
    }


def main() -> None:
    """Measure and print one line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one-by-one", action="store_true", help="wait for each event's acknowledgement")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    args = parser.parse_args()
    found = measure(args.events, args.rounds, one_by_one=args.one_by_one)
    if args.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name:28} {value:,}")


if __name__ == "__main__":
    main()
