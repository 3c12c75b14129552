"""The owner of a partition's items: applies touches in memory, and writes changed items at intervals.

A touch is acknowledged when its items are on the log. After a crash the other touches come again; they are states, and
change nothing twice.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from pydantic_core import to_json

from operators.propagate import NOBODY_ASKS
from operators.steps.graph import forget, step
from schemas import ItemMemory, Touch, compound_key, encode
from streams.worker.deps import Deps
from streams.worker.items.shared import FORGOTTEN
from streams.worker.runtime.dispatch import ConsumedRecord, Reader
from streams.worker.runtime.fence import PartitionRevoked
from streams.worker.runtime.producer import MessageSizeTooLarge, Producer

logger = logging.getLogger("sager.worker")

AT_ONCE = 200
"""Items that are encoded and sent at once."""


class Owner:
    """One partition's items, in one consumer generation.

    It calls `acknowledge` with each event, in order, when its items are on the log.
    """

    def __init__(
        self,
        reader: Reader,
        producer: Producer,
        deps: Deps,
        partition: int,
        generation: int,
        acknowledge: Callable[[ConsumedRecord], None],
    ) -> None:
        self.generation, self.partition = generation, partition
        self._reader, self._producer, self._settings, self._items = reader, producer, deps.settings, deps.items
        self._acknowledge = acknowledge
        # Items newer than the log as this worker has read it; None for removed ones.
        self._newer: dict[bytes, ItemMemory | None] = {}
        self._dirty: set[bytes] = set()
        # The last value of each item and its offset: until the follower has read it, the store is behind.
        self._written: dict[bytes, tuple[bytes | None, int]] = {}
        self._events: deque[ConsumedRecord] = deque()
        self._is_abandoned = False
        self._writing = asyncio.Lock()

    @property
    def waiting(self) -> int:
        """The number of unacknowledged events."""
        return len(self._events)

    def take(self, event: ConsumedRecord, touch: Touch) -> str:
        """Apply a touch, which a flush acknowledges; return its outcome."""
        self._check_kept()
        changed = step(lambda item_id, domain: self._item(compound_key(item_id, domain)), touch, datetime.now(UTC))
        for item in changed:
            key = compound_key(item.item_id, item.domain)
            self._newer[key] = item
            self._dirty.add(key)
        self._events.append(event)
        return "gathered" if changed else "repeated"

    def add(self, event: ConsumedRecord) -> None:
        """Add an event without items, to be acknowledged in its turn, once."""
        self._check_kept()
        if not (self._events and self._events[-1] is event):
            self._events.append(event)

    def _check_kept(self) -> None:
        """Raise PartitionRevoked if this owner was dropped: it never acknowledges, and a rebalance would wait."""
        if self._is_abandoned:
            raise PartitionRevoked

    def abandon(self) -> list[ConsumedRecord]:
        """Drop this owner; return its unacknowledged events."""
        self._is_abandoned = True
        left = list(self._events)
        self._events.clear()
        return left

    def _item(self, key: bytes) -> ItemMemory | None:
        """Return an item as it was changed here, or else as it is on the log."""
        if key in self._newer:
            return self._newer[key]
        known = self._items.held(key, self.partition)
        return None if known is None else known.item

    async def flush(self) -> None:
        """Write changed items, and acknowledge their events.

        Raises PartitionRevoked if the partition has moved; nothing was acknowledged, and its new owner gets it again.
        """
        async with self._writing:
            if not self._events:
                return
            done = list(self._events)
            await self._write(done[-1])
            if self.generation != self._producer.generation():
                raise PartitionRevoked
            if self._is_abandoned:
                return
            for event in done:
                self._events.popleft()
                self._acknowledge(event)
            self._reader.touch()

    async def _write(self, event: ConsumedRecord) -> None:
        """Write each changed item once, and remove items beyond the bound."""
        self._drop_what_came_back()
        for key in self._beyond_the_bound():
            self._newer[key] = None
            self._dirty.add(key)
        dirty, self._dirty = list(self._dirty), set()
        try:
            for start in range(0, len(dirty), AT_ONCE):
                sends = (self._send(event, key) for key in dirty[start : start + AT_ONCE])
                # All of them, also if one fails: no send may outlive its flush.
                for result in await asyncio.gather(*sends, return_exceptions=True):
                    if isinstance(result, BaseException):
                        raise result
        except BaseException:
            self._dirty.update(dirty)
            raise

    async def _send(self, event: ConsumedRecord, key: bytes) -> None:
        item = self._newer.get(key)
        raw = None if item is None else encode(item)
        try:
            sent = await self._producer.send(event, ItemMemory.TOPIC, key, raw, self.partition)
        except MessageSizeTooLarge:
            if raw is None:
                raise
            # A broker with a lower limit than ours. One item that begins again is better than a partition that stops.
            logger.warning("an item of partition %d is too large for the broker, and begins again", self.partition)
            if self._newer.get(key) is item:
                self._newer[key] = None
            raw, sent = None, await self._producer.send(event, ItemMemory.TOPIC, key, None, self.partition)
        self._written[key] = raw, sent.offset

    def _drop_what_came_back(self) -> None:
        store, partition = self._items.store, self.partition
        reached = store.position(partition)
        # A missing item proves nothing before its tombstone is read: the value that it removes may be unread too.
        came = [
            key for key, (raw, offset) in self._written.items() if reached > offset and store.get(partition, key) == raw
        ]
        for key in came:
            del self._written[key]
            if key not in self._dirty:
                self._newer.pop(key, None)

    def _beyond_the_bound(self) -> Sequence[bytes]:
        """Return the items that have been silent longest, as many as there are too many."""
        store, partition = self._items.store, self.partition
        most = -(-self._settings.graph_items // self._settings.partitions)
        count = store.count(partition)
        for key, item in self._newer.items():
            count += (item is not None) - (store.get(partition, key) is not None)
        return store.oldest(partition, count - most, self._newer) if count > most else ()

    async def forget(self, event: ConsumedRecord, touch: Touch) -> str:
        """Take a user out of all items at once, and report that on the log.

        Raises PartitionRevoked if the partition has moved; its new owner does it.
        """
        async with self._writing:
            self._check_kept()
            for key in await self._keys_with(touch.taker):
                item = self._item(key)
                without = None if item is None else forget(item, touch)
                if without is not None:
                    self._newer[key] = without if without.takers else None
                    self._dirty.add(key)
            # With all earlier changes: they are on the log when the report is.
            await self._write(event)
            if touch.forgotten and touch.forgotten != NOBODY_ASKS:
                await self._producer.send(event, ItemMemory.TOPIC, FORGOTTEN, to_json(touch.forgotten), self.partition)
            self._events.append(event)
        await self.flush()
        return "forgotten"

    async def _keys_with(self, neighbour: str) -> list[bytes]:
        """Return keys of the items that have this taker, on the log or in newer changes."""
        newer = [
            key for key, item in self._newer.items() if item and any(t.neighbour == neighbour for t in item.takers)
        ]
        return list(dict.fromkeys([*newer, *await self._items.holding(self.partition, neighbour)]))
