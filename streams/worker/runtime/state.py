"""Size of the worker's share of each table, in entries and bytes, for the metrics."""

import asyncio
import logging
from itertools import islice
from typing import Any

from streams.worker import metrics
from streams.worker.runtime.repairs import DeliveredTable

logger = logging.getLogger("sager.worker")

SECONDS = 10.0
SAMPLE = 1_000
_ROCKSDB_KEYS, _ROCKSDB_BYTES = "rocksdb.estimate-num-keys", "rocksdb.estimate-live-data-size"


async def measure(tables: dict[str, DeliveredTable]) -> None:
    """Update the metrics every few seconds. Runs in the event loop, so that no table changes meanwhile."""
    while True:
        try:
            _tell(tables)
        except Exception as error:  # a task that raises ends the worker, and a figure is not worth that
            logger.warning("cannot measure the tables: %s", error)
        await asyncio.sleep(SECONDS)


def _tell(tables: dict[str, DeliveredTable]) -> None:
    for name, table in tables.items():
        entries, size = size_of(table.data)
        metrics.STATE_ENTRIES.labels(name).set(entries)
        metrics.STATE_BYTES.labels(name).set(size)


def size_of(store: Any) -> tuple[int, int]:
    """Entries and bytes of a table's store; in memory the bytes are those of a sample, times the entries.

    RocksDB tells its own estimates: what it has not written from its buffers yet is in the entries alone.
    """
    if hasattr(store, "_dbs"):
        shares = list(store._dbs.values())
        return _sum(shares, _ROCKSDB_KEYS), _sum(shares, _ROCKSDB_BYTES)
    entries = len(store.data)
    sample = [len(key) + len(value) for key, value in islice(store.data.items(), SAMPLE)]
    return entries, round(entries * sum(sample) / len(sample)) if sample else 0


def _sum(shares: list[Any], name: str) -> int:
    return sum(share.property_int_value(name) or 0 for share in shares)
