"""Measures how fast `sager materialize` works off a backlog: rows per second, with the offsets in the transaction.

    python -m benchmarks.backlog [--records 30000] [--json]

For each kind of record, and for all of them as they come, the embedded broker gets this many, and a materializer in a
process of its own reads them into an empty file. They are the records of the tests' world of people who choose among
the built-in films and books, each of many people. CPU is that of the process and its children from its first
to its last batch, publications included; on a shared machine trust it, and not rows per second.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from streams.kafka import topics
from streams.kafka.clients import partition_of, producer_config
from streams.local.broker import EmbeddedBroker
from streams.materializer.records import Record
from streams.materializer.run import Written, materialize
from streams.settings import Settings

COPIES = 60
"""How many people live through the same: the users that a batch is of are this many times those of the tests' world."""

KINDS: dict[str, tuple[str, ...]] = {
    "as they come": (),
    "rankings": ("rankings",),
    "selections": ("selections",),
    "contrasts": ("contrasts",),
    "diffs": ("skill-diffs",),
    "skills": ("skills",),
    "slim skills": ("slim-skills",),
    "interactions": ("interactions",),
}


def copies(records: Sequence[Record], kinds: Sequence[str], most: int) -> Iterator[tuple[Record, bytes, bytes, str]]:
    """Records of these kinds from the middle of a history, each of `COPIES` people: with key, value and the person."""
    people = [record for record in records if record.key and b"person-" in record.key]
    chosen = [record for record in people if not kinds or record.topic.base in kinds]
    for record in chosen[len(chosen) // 2 :][: most // COPIES]:
        for number in range(COPIES):
            again = f"person-{number}-".encode()
            key = (record.key or b"").replace(b"person-", again)
            user = key.decode() if not key.startswith(b"[") else json.loads(key)[0]
            yield record, key, (record.value or b"").replace(b"person-", again), user


def produce(settings: Settings, kinds: Sequence[str], most: int) -> None:
    """Sends the records, as many as asked for."""
    from tests.analytics_world import build  # noqa: PLC0415 - it takes seconds, and readers do without

    topics.ensure(settings)
    producer = Producer(producer_config(settings))
    for record, key, value, user in copies(build().records, kinds, most):
        where = partition_of(user, settings.partitions)
        while True:
            try:
                producer.produce(record.topic.name(settings.prefix), value, key, where)
                break
            except BufferError:
                producer.poll(0.1)
    if left := producer.flush(60):
        raise SystemExit(f"{left} records were not taken")


def read(settings: Settings, most: int) -> None:
    """The materializer: works off the backlog and prints what it took."""
    stop, seen, rows = threading.Event(), 0, 0
    began: list[float] = []

    def on_batch(written: Written) -> None:
        nonlocal seen, rows
        if not began:
            # The first batch pays for what is made once: patterns, schemas, memory.
            began.extend((time.monotonic(), _cpu()))
            return
        seen, rows = seen + written.records, rows + sum(written.rows.values())
        if seen >= most * 0.9:
            seconds, cpu = time.monotonic() - began[0], _cpu() - began[1]
            print(json.dumps({"records": seen, "rows": rows, "bad": written.bad, "seconds": seconds, "cpu": cpu}))
            sys.stdout.flush()
            stop.set()

    materialize(settings, stop, on_batch)


def _cpu() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def measure(kinds: Sequence[str], most: int) -> dict[str, Any]:
    """One kind: rows a second, by the clock and by CPU."""
    with tempfile.TemporaryDirectory(prefix="sager-backlog-") as name:
        folder = Path(name)
        with EmbeddedBroker(folder / "broker.log") as broker:
            given: dict[str, Any] = {"bootstrap": broker.bootstrap, "embedded": True, "data_dir": folder}
            produce(Settings(**given), kinds, most)
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.backlog", "--child", "--records", str(most)],
                env=os.environ | {f"SAGER_{key.upper()}": str(value) for key, value in given.items()},
                stdout=subprocess.PIPE, stderr=(folder / "log").open("wb"), check=False, timeout=600,
            )  # fmt: skip
            if done.returncode:
                raise SystemExit((folder / "log").read_text()[-2_000:])
    found = json.loads(done.stdout.splitlines()[0])
    return {
        "rows_per_second": round(found["rows"] / found["seconds"]),
        "rows_per_cpu_second": round(found["rows"] / found["cpu"]),
        "records_per_cpu_second": round(found["records"] / found["cpu"]),
        "rows_per_record": round(found["rows"] / found["records"], 2),
    }


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=30_000)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        read(Settings(), args.records)
        return
    found = {name: measure(kinds, args.records) for name, kinds in KINDS.items()}
    if args.json:
        print(json.dumps(found))
        return
    print(
        "| records | rows/s | rows per CPU second | records per CPU second | rows per record |\n|---|---|---|---|---|"
    )
    for name, row in found.items():
        print(f"| {name} |" + "".join(f" {value:,} |" for value in row.values()))


if __name__ == "__main__":
    main()
