"""Measures what the items of the user-item graph take in a worker, and what is done with them.

    python -m benchmarks.items [--items 100000] [--store memory|rocksdb] [--json]

Users take items by a long tail, as they do in real catalogues: a few items are full of takers, most have one or two.
Bytes are those of keys and packed values; memory is what a process grows by that takes them in. Then it times, in CPU,
a record of the log taken in, a choice applied to its items, what items tell a reader (first asked and asked again), and
the search for one taker in all items, as a request to forget does it.
"""

import argparse
import asyncio
import json
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from operators.propagate import GraphLimits, neighbour_of
from operators.steps.propagate import step
from operators.steps.remember import remember
from schemas import Fact, ItemFacts, ItemMemory, Memory, compound_key
from streams.kafka.clients import partition_of
from streams.kafka.packed_items import pack
from streams.settings import Settings
from streams.worker.items.shared import Items
from streams.worker.items.store import RocksItems

DOMAIN, GENRES = "films", 24
CHOICES_PER_ITEM = 4
READS = 300


def rss_bytes() -> int:
    """What the process holds in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def choices(items: int, rng: random.Random) -> Iterator[tuple[str, str]]:
    """Users and what they take: item n about 1 / n times as often as the first."""
    users = items // 2
    for _ in range(items * CHOICES_PER_ITEM):
        yield f"user-{rng.randrange(users):07}", f"item-{int(items ** rng.random()):07}"


def written(items: int, limits: GraphLimits) -> tuple[dict[bytes, bytes], list[Memory], float]:
    """What is on the log of items after all choices, some memories, and CPU ms per choice of the items' side."""
    rng = random.Random(1)
    memories: dict[str, Memory] = {}
    held: dict[tuple[str, str], ItemMemory] = {}
    at, busy, count = datetime(2026, 1, 1, tzinfo=UTC), 0.0, 0
    for count, (user, name) in enumerate(choices(items, rng), 1):
        facts = (Fact(dimension="genre", value=f"genre {hash(name) % GENRES}"),)
        moment = at + timedelta(seconds=count)
        item = ItemFacts(item_id=name, facts=facts)
        remembered = remember(memories.get(user), user, DOMAIN, item, moment, f"event-{count}", None, limits)
        if remembered is None or remembered.touch is None:
            continue
        memories[user], touch = remembered.memory, remembered.touch
        began = time.process_time()
        told = step(lambda item_id, domain: held.get((item_id, domain)), touch)
        busy += time.process_time() - began
        held.update({((item.item_id, item.domain), item) for item in told.items})
    packed = {compound_key(item.item_id, item.domain): pack(item) for item in held.values()}
    return packed, rng.sample(list(memories.values()), READS), 1000 * busy / count


def us(do: Callable[[], Any], times: int = 1) -> float:
    """CPU microseconds of one of so many."""
    began = time.process_time()
    do()
    return round(1e6 * (time.process_time() - began) / times, 1)


def measured(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All figures."""
    settings = Settings(data_dir=folder)
    limits = GraphLimits(secret=b"benchmark")
    before = rss_bytes()
    # In a process of its own, whose memory does not count.
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        log, readers, hear_ms = pool.submit(written, args.items, limits).result()
    records = [(partition_of(json.loads(key)[0], settings.partitions), key, value) for key, value in log.items()]
    sizes = sorted(len(value) for value in log.values())
    del log
    items = Items(settings, limits)
    if args.store == "rocksdb":
        items.store = RocksItems(folder / "items", "benchmark")

    def take_all() -> None:
        for offset, (partition, key, value) in enumerate(records):
            items.take(partition, offset, key, value)
            if not offset % 2_000:
                items.settle()
        items.settle()

    take_us = us(take_all, len(records))
    total, count = sum(len(key) + len(value) for _, key, value in records), len(records)
    records.clear()
    grown = rss_bytes() - before
    first = us(lambda: [items.near(each) for each in readers], READS)
    again = us(lambda: [items.near(each) for each in readers], READS)
    epochs = us(lambda: [items.epochs(each) for each in readers], READS)
    sought = neighbour_of(readers[0].user_id, limits.secret)
    found: list[bytes] = []

    def search() -> None:
        for partition in range(settings.partitions):
            found.extend(asyncio.run(items.holding(partition, sought)))

    search_us = us(search, count)
    if not found:
        raise SystemExit("a taker was not found in any item")
    share = 1_000_000 / count
    return {
        "items": count,
        "store": args.store,
        "bytes_per_item": round(statistics.mean(sizes)),
        "bytes_of_a_full_item": sizes[-1],
        "log_mb_per_million": round(share * total / 1e6),
        "memory_mb_per_million": round(share * grown / 1e6),
        "taken_in_us": take_us,
        "seconds_to_read_a_million": round(take_us, 1),
        "choice_ms": round(hear_ms, 3),
        "neighbourhood_us_first": first,
        "neighbourhood_us_again": again,
        "epochs_us": epochs,
        "seconds_to_search_a_million": round(search_us, 2),
    }


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--store", choices=("memory", "rocksdb"), default="memory")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sager-items-") as folder:
        found = measured(args, Path(folder))
    if args.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        print(f"{name:<32} {value:,}" if isinstance(value, int | float) else f"{name:<32} {value}")


if __name__ == "__main__":
    main()
