"""Bounded LRU cache."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


class LruCache(Generic[KeyT, ValueT]):
    """At most `most` values; the least recently used one is evicted first.

    >>> cache = LruCache[str, int](most=1)
    >>> cache.put("a", 1)
    >>> cache.put("b", 2)
    >>> cache.get("a"), cache.get("b")
    (None, 2)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[KeyT, ValueT] = {}

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: KeyT) -> ValueT | None:
        """The value, now the most recently used; None where there is none."""
        value = self._held.pop(key, None)
        if value is not None:
            self._held[key] = value
        return value

    def put(self, key: KeyT, value: ValueT) -> None:
        """Hold a value as the most recently used."""
        self._held.pop(key, None)
        self._held[key] = value
        if len(self._held) > self._most:
            del self._held[next(iter(self._held))]

    def drop(self, key: KeyT) -> None:
        """Evict a value; nothing happens where there is none."""
        self._held.pop(key, None)

    def drop_where(self, is_meant: Callable[[KeyT], bool]) -> None:
        """Evict all values whose key is meant."""
        for key in [key for key in self._held if is_meant(key)]:
            del self._held[key]
