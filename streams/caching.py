"""Values in memory: a bounded LRU cache, and compression of values that stay for long."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from cramjam import snappy

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


class LruCache(Generic[KeyT, ValueT]):
    """At most `most` values; the least recently used one is evicted first."""

    def __init__(self, most: int) -> None:
        self._most = most
        # A plain dict looks past all keys that were evicted since it last grew to find its first.
        self._held: OrderedDict[KeyT, ValueT] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: KeyT) -> ValueT | None:
        """Return the value, now the most recently used; None where there is none."""
        value = self._held.get(key)
        if value is not None:
            self._held.move_to_end(key)
        return value

    def put(self, key: KeyT, value: ValueT) -> None:
        """Hold a value as the most recently used."""
        self._held[key] = value
        self._held.move_to_end(key)
        if len(self._held) > self._most:
            self._held.popitem(last=False)

    def drop(self, key: KeyT) -> None:
        """Evict a value, if there is one."""
        self._held.pop(key, None)

    def drop_where(self, is_meant: Callable[[KeyT], bool]) -> None:
        """Evict all values whose key is meant."""
        for key in [key for key in self._held if is_meant(key)]:
            del self._held[key]


def compressed(value: bytes) -> bytes:
    """Return the value compressed; equal values give equal bytes. Takes 8 us for a skill of 40 lines."""
    compressor = snappy.Compressor()
    compressor.compress(value)
    return bytes(compressor.finish())


def decompressed(value: bytes) -> bytes:
    """Return the value as it was before `compressed`."""
    decompressor = snappy.Decompressor()
    decompressor.decompress(value)
    return bytes(decompressor.finish())
