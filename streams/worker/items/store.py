"""A worker's copy of `item-memories`, in memory.

One thread writes, that which reads the log; the event loop reads. Entries stand in the order in which they were last
written to the log, partition by partition, so that the item that has been silent longest is the first.
"""

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Collection


class ItemStore:
    """Packed items by partition and key, and how far each partition has been read."""

    def __init__(self) -> None:
        self._shares: dict[int, OrderedDict[bytes, bytes]] = defaultdict(OrderedDict)
        self._next: dict[int, int] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, partition: int, key: bytes) -> bytes | None:
        """Return a value."""
        return self._shares[partition].get(key)

    def keys(self, partition: int) -> list[bytes]:
        """Return a partition's keys, the one that was written longest ago first."""
        with self._lock:
            return list(self._shares[partition])

    def oldest(self, partition: int, most: int, but: Collection[bytes]) -> list[bytes]:
        """Return the first of these keys that are not among `but`."""
        found: list[bytes] = []
        with self._lock:
            for key in self._shares[partition]:
                if len(found) >= most:
                    break
                if key not in but:
                    found.append(key)
        return found

    def count(self, partition: int) -> int:
        """Return the number of items of a partition."""
        return len(self._shares[partition])

    def size(self) -> tuple[int, int]:
        """Return the number of entries, and the bytes of their keys and values."""
        return sum(map(len, list(self._shares.values()))), self._bytes

    def position(self, partition: int) -> int:
        """Return the offset behind the last record that was read."""
        return self._next.get(partition, 0)

    def passed(self, partition: int, offset: int) -> None:
        """Note that a record that is no item was read."""
        self._next[partition] = offset + 1

    def put(self, partition: int, offset: int, key: bytes, value: bytes | None) -> None:
        """Apply a record of the log; None removes."""
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
