"""Where a worker keeps its copy of `item-memories`: in memory, or in RocksDB.

One thread writes, that which reads the log; the event loop reads. Entries stand in the order in which they were last
written to the log, partition by partition, so that the item that has been silent longest is the first, after a restart
as before.
"""

import json
import shutil
import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Protocol

from streams import private
from streams.worker.runtime.repairs import compact

STALE_SECONDS = 12 * 3600
"""A store that was closed for longer is read anew: the log may have dropped tombstones that it has not seen."""
_VALUE, _PLACE, _NEXT, _ABOUT = b"v", b"o", b"n", b"about"
_OFFSET_BYTES, _PARTITION_BYTES = 8, 4


class ItemStore(Protocol):
    """Packed items by partition and key, and how far each partition has been read."""

    def get(self, partition: int, key: bytes) -> bytes | None:
        """A value; None where there is none."""

    def keys(self, partition: int) -> list[bytes]:
        """A partition's keys, the one that was written longest ago first."""

    def oldest(self, partition: int, most: int, but: Collection[bytes]) -> list[bytes]:
        """The first of these keys that are not among others."""

    def count(self, partition: int) -> int:
        """How many items a partition has."""

    def size(self) -> tuple[int, int]:
        """Entries and bytes, as far as they are known."""

    def position(self, partition: int) -> int | None:
        """The offset to read on from; None: the beginning."""

    def put(self, partition: int, offset: int, key: bytes, value: bytes | None) -> None:
        """Take a record of the log; None removes."""

    def passed(self, partition: int, offset: int) -> None:
        """A record of the log that is no item was read."""

    def settle(self) -> None:
        """Keep the records that were taken."""

    def scrub(self) -> None:
        """Take what was removed or replaced off the disk."""

    def close(self) -> None:
        """Nothing more is taken."""


class MemoryItems:
    """Items in memory."""

    def __init__(self) -> None:
        self._shares: dict[int, OrderedDict[bytes, bytes]] = defaultdict(OrderedDict)
        self._next: dict[int, int] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, partition: int, key: bytes) -> bytes | None:
        """A value; None where there is none."""
        return self._shares[partition].get(key)

    def keys(self, partition: int) -> list[bytes]:
        """A partition's keys, the one that was written longest ago first."""
        with self._lock:
            return list(self._shares[partition])

    def oldest(self, partition: int, most: int, but: Collection[bytes]) -> list[bytes]:
        """The first of these keys that are not among others."""
        with self._lock:
            return _first(iter(self._shares[partition]), most, but)

    def count(self, partition: int) -> int:
        """How many items a partition has."""
        return len(self._shares[partition])

    def size(self) -> tuple[int, int]:
        """Entries and bytes of keys and values."""
        return sum(map(len, list(self._shares.values()))), self._bytes

    def position(self, partition: int) -> int | None:
        """The offset to read on from; None: the beginning."""
        return self._next.get(partition)

    def passed(self, partition: int, offset: int) -> None:
        """A record of the log that is no item was read."""
        self._next[partition] = offset + 1

    def put(self, partition: int, offset: int, key: bytes, value: bytes | None) -> None:
        """Take a record of the log; None removes."""
        with self._lock:
            share = self._shares[partition]
            before = share.get(key)
            if before is not None:
                self._bytes -= len(key) + len(before)
            if value is None:
                share.pop(key, None)
            else:  # replaced in its place first: a reader between the two finds it
                share[key] = value
                share.move_to_end(key)
                self._bytes += len(key) + len(value)
        self._next[partition] = offset + 1

    def settle(self) -> None:
        """Nothing is left to do."""

    def scrub(self) -> None:
        """Nothing is left of what was removed."""

    def close(self) -> None:
        """Nothing is left to do."""


class RocksItems:
    """Items in RocksDB, with the order in which they were written: by `o`, partition and offset stands the key.

    Args:
        folder: of the database.
        cluster: names the log that it is a copy of; a copy of another one is begun anew.
    """

    def __init__(self, folder: Path, cluster: str) -> None:
        self._folder = folder
        self._about = {"cluster": cluster, "form": 1}
        self._db: Any = self._opened()
        if not self._is_fresh():
            self._db.close()
            shutil.rmtree(folder)
            self._db = self._opened()
        self._counts: dict[int, int] = defaultdict(int)
        for key in self._db.keys(from_key=_PLACE):
            if not key.startswith(_PLACE):
                break
            self._counts[_partition_in(key)] += 1
        self._next: dict[int, int] = {}
        self._batch: dict[bytes, bytes | None] = {}
        self.settle()

    def _opened(self) -> Any:
        from rocksdict import Options, Rdict  # noqa: PLC0415 - an optional extra

        private.make(self._folder)
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        return Rdict(str(self._folder), options)

    def _is_fresh(self) -> bool:
        raw = self._db.get(_ABOUT)
        if raw is None:
            return next(iter(self._db.keys()), None) is None
        about = json.loads(raw)
        at = about.pop("at", 0)
        return bool(about == self._about) and 0 <= time.time() - at < STALE_SECONDS

    def get(self, partition: int, key: bytes) -> bytes | None:
        """A value; None where there is none."""
        raw = self._raw(_VALUE + _number(partition) + key)
        return None if raw is None else raw[_OFFSET_BYTES:]

    def _raw(self, name: bytes) -> bytes | None:
        # What is in the batch is on its way to the disk. The other thread may begin a new one at any moment.
        batch = self._batch
        found: bytes | None = batch[name] if name in batch else self._db.get(name)
        return found

    def keys(self, partition: int) -> list[bytes]:
        """A partition's keys, the one that was written longest ago first."""
        return list(dict.fromkeys(self._in_order(partition)))

    def _in_order(self, partition: int) -> Iterator[bytes]:
        start = _PLACE + _number(partition)
        batch = {place: key for place, key in self._batch.copy().items() if place.startswith(start)}
        for place, key in self._db.items(from_key=start):
            if not place.startswith(start):
                break
            if place not in batch:
                yield key
        # What is in the batch came behind all of that.
        yield from (key for key in batch.values() if key is not None)

    def oldest(self, partition: int, most: int, but: Collection[bytes]) -> list[bytes]:
        """The first of these keys that are not among others."""
        return _first(self._in_order(partition), most, but)

    def count(self, partition: int) -> int:
        """How many items a partition has."""
        return self._counts[partition]

    def size(self) -> tuple[int, int]:
        """Entries, and bytes by RocksDB's estimate."""
        return sum(list(self._counts.values())), self._db.property_int_value("rocksdb.estimate-live-data-size") or 0

    def position(self, partition: int) -> int | None:
        """The offset to read on from; None: the beginning."""
        if partition not in self._next:
            raw = self._db.get(_NEXT + _number(partition))
            return None if raw is None else int.from_bytes(raw, "big")
        return self._next[partition]

    def put(self, partition: int, offset: int, key: bytes, value: bytes | None) -> None:
        """Take a record of the log; None removes."""
        name, where = _VALUE + _number(partition) + key, _number(partition)
        before = self._raw(name)
        if before is not None:
            self._batch[_PLACE + where + before[:_OFFSET_BYTES]] = None
            self._counts[partition] -= 1
        if value is None:
            self._batch[name] = None
        else:
            at = offset.to_bytes(_OFFSET_BYTES, "big")
            self._batch[name] = at + value
            self._batch[_PLACE + where + at] = key
            self._counts[partition] += 1
        self._next[partition] = offset + 1

    def passed(self, partition: int, offset: int) -> None:
        """A record of the log that is no item was read."""
        self._next[partition] = offset + 1

    def settle(self) -> None:
        """Write the batch at once, with how far the log has been read."""
        from rocksdict import WriteBatch  # noqa: PLC0415 - an optional extra

        batch = WriteBatch(raw_mode=True)
        for name, value in list(self._batch.items()):
            if value is None:
                batch.delete(name)
            else:
                batch.put(name, value)
        for partition, offset in self._next.items():
            batch.put(_NEXT + _number(partition), offset.to_bytes(_OFFSET_BYTES, "big"))
        batch.put(_ABOUT, json.dumps({**self._about, "at": time.time()}).encode())
        self._db.write(batch)
        self._batch = {}

    def scrub(self) -> None:
        """Compact the database: until then, what was replaced is only marked."""
        compact(self._db)

    def close(self) -> None:
        """Write what there is, and let another process open it."""
        self.settle()
        self._db.close()


def _first(keys: Iterator[bytes], most: int, but: Collection[bytes]) -> list[bytes]:
    found: list[bytes] = []
    for key in keys:
        if len(found) >= most:
            break
        if key not in but:
            found.append(key)
    return found


def _number(partition: int) -> bytes:
    return partition.to_bytes(_PARTITION_BYTES, "big")


def _partition_in(name: bytes) -> int:
    return int.from_bytes(name[1 : 1 + _PARTITION_BYTES], "big")
