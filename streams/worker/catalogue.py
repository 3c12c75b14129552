"""The apps' catalogue: lists may name its items by their ids alone."""

import asyncio
import time
from typing import Any

from schemas import BadRecord, Candidate, Item, Position, decode
from streams.caching import LruCache, compressed, decompressed
from streams.kafka.follower import Follower
from streams.settings import Settings

# An app may send an item and a list with it at the same time, and the topics are read independently.
WAIT_SECONDS, POLL_SECONDS = 3.0, 0.05
CACHED_ITEMS = 20_000


class Catalogue(Follower):
    """The newest record of each item on the topic `items`, compressed; empty until `read_all`."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, [Item.TOPIC], lambda message: self.apply(message.key() or b"", message.value()))
        self._values: dict[bytes, bytes] = {}
        self._decoded: LruCache[bytes, tuple[bytes, Item | None]] = LruCache(CACHED_ITEMS)

    def apply(self, key: bytes, value: bytes | None) -> None:
        """Apply a record of the topic; it is decoded on first use."""
        if value is None:
            self._values.pop(key, None)
        else:
            self._values[key] = compressed(value)

    def get(self, domain: str, item_id: str) -> Candidate | None:
        """Return an item of a domain; None without a valid newest record."""
        key = item_id.encode()
        value = self._values.get(key)
        if value is None:
            return None
        known = self._decoded.get(key)
        if known is None or known[0] is not value:
            known = value, _decode(decompressed(value), item_id)
            self._decoded.put(key, known)
        item = known[1]
        return item.item if item is not None and item.domain == domain else None

    async def unknown_item(self, record: Any, position: Position) -> str | None:
        """Return the first id alone in a list that is still unknown after a wait; None if all are known."""
        # From the record's time, not from now: otherwise a flood of unknown ids would add up its waits.
        until = min(position.timestamp_ms / 1_000, time.time()) + WAIT_SECONDS
        for each in getattr(record, "candidates", ()):
            while each.is_id_alone and self.get(record.domain, each.item_id) is None:
                if time.time() >= until:
                    return str(each.item_id)
                await asyncio.sleep(POLL_SECONDS)
        return None


def _decode(value: bytes, item_id: str) -> Item | None:
    try:
        item = decode(Item, value)
    except BadRecord:  # the materializer reports it
        return None
    return item if item.item.item_id == item_id else None
