"""A bounded LRU cache, and compression of cached values."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from cramjam import snappy

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


class LruCache(Generic[KeyT, ValueT]):
    """A cache that evicts the least recently used value."""

    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        # A plain dict scans all evicted slots for its first key.
        self._values: OrderedDict[KeyT, ValueT] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: KeyT) -> ValueT | None:
        """Return the value and mark it as used; None if missing."""
        value = self._values.get(key)
        if value is not None:
            self._values.move_to_end(key)
        return value

    def put(self, key: KeyT, value: ValueT) -> None:
        """Store a value as the most recently used."""
        self._values[key] = value
        self._values.move_to_end(key)
        if len(self._values) > self._max_size:
            self._values.popitem(last=False)

    def drop(self, key: KeyT) -> None:
        """Evict a value, if present."""
        self._values.pop(key, None)


def compressed(value: bytes) -> bytes:
    """Compress a value, without a checksum: it stays in memory."""
    return bytes(snappy.compress_raw(value))


def decompressed(value: bytes) -> bytes:
    """Decompress a value of `compressed`."""
    return bytes(snappy.decompress_raw(value))
