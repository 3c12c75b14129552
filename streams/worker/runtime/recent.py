"""A small memory of what was made last."""

from collections.abc import Hashable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


class Recent(Generic[KeyT, ValueT]):
    """At most `most` values, the least recently used of them going first.

    >>> recent = Recent[str, int](most=1)
    >>> recent.put("a", 1)
    >>> recent.put("b", 2)
    >>> recent.get("a"), recent.get("b")
    (None, 2)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[KeyT, ValueT] = {}

    def get(self, key: KeyT) -> ValueT | None:
        """The value, now the most recently used; None where there is none."""
        value = self._held.pop(key, None)
        if value is not None:
            self._held[key] = value
        return value

    def put(self, key: KeyT, value: ValueT) -> None:
        """Hold a value."""
        self._held.pop(key, None)
        self._held[key] = value
        if len(self._held) > self._most:
            del self._held[next(iter(self._held))]
