"""Measures how long it takes to forget a person, by the deployment's number of users.

    python -m benchmarks.forget [--users 100000 1000000] [--json]

It measures what grows with the number of users, with the functions that a worker and the materializer call: scanning
tables that hold all users (the worst case: one worker has them all) and their values for references to the person;
deleting the rows in DuckDB; and rewriting the file, so that its free blocks hold nothing. What does not grow is left
out: a tombstone per version, and one message per partition. Tables are in memory.
"""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.analytics_fill import fill
from operators.forget import with_scope
from operators.propagate import GraphLimits, neighbour_of
from schemas import MAX_TAKERS, ForgetRequest, Forgotten, ItemMemory, Receipt, Taker, compound_key, subject_of
from streams.kafka.packed_items import pack
from streams.materializer.batch import Batch
from streams.materializer.snapshot import Publisher
from streams.materializer.store import Store
from streams.settings import Settings
from streams.worker.items.shared import Items
from streams.worker.runtime.lookup import keys_that_begin

ITEMS = 20_000
TABLES_BY_USER = 4
"""Skills, profiles, memories, shadow skills: tables whose keys are scanned."""
START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """Steps and their seconds."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Times one step and prints it."""
        print(f"{name} ...", file=sys.stderr, flush=True)
        began = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - began, 2)


def tables(users: int, who: str, clock: Clock) -> None:
    """Times the scans of a worker that holds all users."""
    keys = [compound_key(f"user-{n:08}", "books") for n in range(users)]
    by_user: Any = SimpleNamespace(data=dict.fromkeys(keys, b""))
    with clock.step("worker: keys of four tables"):
        for _ in range(TABLES_BY_USER):
            _expect(1, asyncio.run(keys_that_begin(by_user, who)))
    items, name = Items(Settings(), GraphLimits()), neighbour_of(who)
    for number in range(ITEMS):
        crowd = [neighbour_of(f"taker-{number}-{n}") for n in range(MAX_TAKERS - 1)]
        takers = tuple(Taker(each, 1, START, 1, 1) for each in [*crowd, *([name] if number == ITEMS // 3 else [])])
        item = ItemMemory(domain="books", item_id=f"item-{number}", takers=takers)
        items.take(0, number, compound_key(item.item_id, item.domain), pack(item))
    with clock.step(f"worker: {ITEMS:,} items' memories"):
        _expect(1, asyncio.run(items.holding(0, name)))


def _expect(count: int, found: list[bytes]) -> None:
    if len(found) != count:
        raise SystemExit(f"{len(found)} keys were found instead of {count}")


def duckdb(users: int, who: str, folder: Path, clock: Clock) -> int:
    """Times the materializer's work; returns the file's size in bytes."""
    now = datetime.now(UTC)
    with Store(folder / "live.duckdb", "sager.") as store:
        print(f"filling DuckDB with {users:,} users ...", file=sys.stderr, flush=True)
        fill(store._db, users, users)
        publisher = Publisher(store, folder / "sager.duckdb", 1.0)
        publisher.publish()
        size = store.path.stat().st_size
        with clock.step("materializer: a publication without forgetting"):
            publisher.publish()
        request = ForgetRequest(event_id="r", occurred_at=now, user_id=who, actor="benchmark")
        empty = Receipt(event_id="r", occurred_at=now, subject=subject_of(who))
        receipt = with_scope(empty, request, Forgotten(event_id="r", until=now, actor="benchmark", done=True))
        with clock.step("materializer: rows deleted"):
            store.write(Batch(), {}, [receipt])
        with clock.step("materializer: file rewritten and published"):
            publisher.publish()
    for name in ("live.duckdb", "sager.duckdb"):
        _must_not_hold(folder / name, who.encode())
    return size


def _must_not_hold(path: Path, text: bytes) -> None:
    with path.open("rb") as file:
        before = b""
        for part in iter(lambda: file.read(1 << 24), b""):
            if text in before + part:
                raise SystemExit(f"{path} still holds {text!r}")
            before = part[-len(text) :]


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--json", action="store_true", help="one JSON object per line instead of the table")
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for users in args.users:
        clock, who = Clock(), f"user-{users // 2:08}"
        tables(users, who, clock)
        folder = Path(tempfile.mkdtemp(prefix="sager-forget-"))
        try:
            size = duckdb(users, who, folder, clock)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        rows.append({"users": users, "duckdb_mib": round(size / 2**20), **clock.seconds})
    tell: Callable[[dict[str, Any]], str] = json.dumps
    if args.json:
        print("\n".join(map(tell, rows)))
        return
    print("| | " + " | ".join(f"{row['users']:,} users" for row in rows) + " |\n|---|" + "---|" * len(rows))
    for name in rows[0]:
        if name != "users":
            print(f"| {name} | " + " | ".join(str(row[name]) for row in rows) + " |")


if __name__ == "__main__":
    main()
