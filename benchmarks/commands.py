"""Measures what reading commands cost to start and to answer: CPU and wall time of whole processes.

    python -m benchmarks.commands [--times 9] [--json]

Against a snapshot of 200 users, made for that. The commands take turns, so that a busy machine slows all of them alike;
the median of each is printed. `python -X importtime -m streams.cli ...` tells which imports it is.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path

from benchmarks.analytics_fill import choices
from benchmarks.surroundings import ROOT
from schemas import encode, topic_of
from streams.materializer.batch import Batch
from streams.materializer.generations import copy_and_rename
from streams.materializer.records import Record
from streams.materializer.rows import read
from streams.materializer.store import Store

USERS = 200
COMMANDS = {
    "sager --help": ["--help"],
    "sager config": ["config"],
    "sager sql": ["sql", "select 1"],
    "sager sql --list": ["sql", "--list"],
    "sager policy show": ["policy", "show", "user-00000001", "--domain", "films"],
    "sager policy log": ["policy", "log", "user-00000001", "--domain", "films"],
}


def publish(folder: Path) -> Path:
    """A snapshot with one choice of each user."""
    batch = Batch()
    for offset, event in enumerate(chain.from_iterable(islice(choices(USERS, 0), USERS))):
        record = Record(topic_of(type(event)), 0, offset, time.time_ns() // 1_000_000, None, encode(event))
        if (rows := read(record)) is not None:
            batch.add(rows)
    with Store(folder / "live.duckdb", "sager.") as store:
        store.write(batch, {})
        now = datetime.now(UTC).replace(tzinfo=None)
        store.checkpoint(now, now)
        copy_and_rename(store.path, folder / "sager.duckdb")
    return folder / "sager.duckdb"


def once(words: list[str], snapshot: Path) -> tuple[float, float]:
    """Milliseconds of CPU, children's too, and of wall time that one run takes."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "streams.cli", *words],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=snapshot.parent,
        env={**os.environ, "SAGER_DUCKDB": str(snapshot), "PYTHONPATH": str(ROOT)},
    )
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), 1e3 * took


def main() -> None:
    """Make the snapshot, run the commands in turn, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=9, help="how often each is run")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    runs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="sager-commands-") as folder:
        snapshot = publish(Path(folder))
        for words in COMMANDS.values():
            once(words, snapshot)  # compiled modules and the file's pages are there from now on
        for _ in range(args.times):
            for name, words in COMMANDS.items():
                runs[name].append(once(words, snapshot))
    found = {
        name: {
            "cpu_ms": round(statistics.median(cpu for cpu, _ in each)),
            "wall_ms": round(statistics.median(wall for _, wall in each)),
        }
        for name, each in runs.items()
    }
    if args.json:
        print(json.dumps(found))
        return
    for name, each in found.items():
        print(f"{name:<20}{each['cpu_ms']:6} ms CPU {each['wall_ms']:6} ms")


if __name__ == "__main__":
    main()
