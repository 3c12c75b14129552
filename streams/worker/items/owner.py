"""The owner of a partition's items: applies touches in memory, and writes each item that changed once in a while.

A touch is acknowledged when all that came of it is on the log. After a crash those that are not come again; they are
states, and change nothing twice.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

from pydantic_core import to_json

from operators.propagate import NOBODY_ASKS
from operators.steps.graph import forget, step
from schemas import ItemMemory, Touch, compound_key
from streams.kafka.packed_items import pack
from streams.worker.items.shared import FORGOTTEN
from streams.worker.pipeline import Pipeline
from streams.worker.runtime.ordered import Stale
from streams.worker.runtime.outlet import MessageSizeTooLarge
from streams.worker.runtime.reader import Taken

logger = logging.getLogger("sager.worker")

AT_ONCE = 200
"""Items that are packed and on their way at once."""


class Owner:
    """One partition's items, for as long as this worker has it.

    Args:
        pipeline: the worker's parts.
        partition: the partition.
        generation: the consumer generation that it was given in.
        acknowledge: called with each event, in order, when all that came of it is on the log.
    """

    def __init__(
        self, pipeline: Pipeline, partition: int, generation: int, acknowledge: Callable[[Taken], None]
    ) -> None:
        self.generation, self.partition = generation, partition
        self._pipeline, self._items = pipeline, pipeline.items
        self._acknowledge = acknowledge
        # What is newer than the log as this worker has read it; None for what was let go.
        self._newer: dict[bytes, ItemMemory | None] = {}
        self._dirty: set[bytes] = set()
        # What was written last, and where: until it has come back, the log as we have read it is behind.
        self._written: dict[bytes, tuple[bytes | None, int]] = {}
        self._events: deque[Taken] = deque()
        self._is_left = False
        self._writing = asyncio.Lock()

    async def claim(self) -> None:
        """Read the log to its end: the previous owner's last write is where this one begins."""
        await self._items.reach_end(self.partition)

    @property
    def waiting(self) -> int:
        """How many events are not acknowledged yet."""
        return len(self._events)

    def take(self, event: Taken, touch: Touch) -> str:
        """Apply a touch; its outcome's word. It is acknowledged by a flush.

        Raises:
            Stale: this owner was let go meanwhile.
        """
        self._check_kept()
        effects = step(lambda item_id, domain: self._item(compound_key(item_id, domain)), touch, datetime.now(UTC))
        for item in effects.items:
            key = compound_key(item.item_id, item.domain)
            self._newer[key] = item
            self._dirty.add(key)
        self._events.append(event)
        return effects.outcome.value

    def add(self, event: Taken) -> None:
        """An event of which nothing is to be written: to be acknowledged in its turn, once.

        Raises:
            Stale: this owner was let go meanwhile.
        """
        self._check_kept()
        if not (self._events and self._events[-1] is event):
            self._events.append(event)

    def _check_kept(self) -> None:
        """What came to an owner that was let go would never be acknowledged, and a rebalance would wait for it."""
        if self._is_left:
            raise Stale

    def leave(self) -> list[Taken]:
        """The events that are not acknowledged, and are not this owner's any more."""
        self._is_left = True
        left = list(self._events)
        self._events.clear()
        return left

    def _item(self, key: bytes) -> ItemMemory | None:
        """An item as it is now: as it was changed here, or as it is on the log."""
        if key in self._newer:
            return self._newer[key]
        known = self._items.held(key, self.partition)
        return None if known is None else known.item

    async def flush(self) -> None:
        """Write what has changed, and acknowledge what led to it.

        Raises:
            Stale: the partition has moved; nothing was acknowledged, and whoever has it now is given all of it again.
        """
        async with self._writing:
            if not self._events:
                return
            done = list(self._events)
            await self._write(done[-1])
            if self.generation != self._pipeline.generation():
                raise Stale
            if self._is_left:
                return
            for event in done:
                self._events.popleft()
                self._acknowledge(event)
            self._pipeline.touch()

    async def _write(self, event: Taken) -> None:
        """Write each item that changed once, and let go of those that there is no room for."""
        self._drop_what_came_back()
        for key in self._beyond_the_bound():
            self._newer[key] = None
            self._dirty.add(key)
        dirty, self._dirty = list(self._dirty), set()
        try:
            for some in _in_parts(dirty, AT_ONCE):
                await _all(self._send(event, key) for key in some)
        except BaseException:
            self._dirty.update(dirty)
            raise

    async def _send(self, event: Taken, key: bytes) -> None:
        item = self._newer.get(key)
        raw = None if item is None else pack(item)
        try:
            sent = await self._pipeline.send(event, ItemMemory.TOPIC, key, raw, self.partition)
        except MessageSizeTooLarge:
            if raw is None:
                raise
            # A broker with a lower limit than ours. One item that begins anew is better than a partition that stops.
            logger.warning("an item of partition %d is too large for the broker, and begins anew", self.partition)
            if self._newer.get(key) is item:
                self._newer[key] = None
            raw, sent = None, await self._pipeline.send(event, ItemMemory.TOPIC, key, None, self.partition)
        self._written[key] = raw, sent.offset

    def _drop_what_came_back(self) -> None:
        store, partition = self._items.store, self.partition
        reached = store.position(partition) or 0
        # That there is nothing says nothing where the tombstone has not been read: nor may be what it removes.
        came = [
            key for key, (raw, offset) in self._written.items() if reached > offset and store.get(partition, key) == raw
        ]
        for key in came:
            del self._written[key]
            if key not in self._dirty:
                self._newer.pop(key, None)

    def _beyond_the_bound(self) -> Sequence[bytes]:
        """The items that were heard of longest ago, as many as there are too many."""
        store, partition = self._items.store, self.partition
        most = -(-self._pipeline.settings.graph_items // self._pipeline.settings.partitions)
        count = store.count(partition)
        for key, item in self._newer.items():
            count += (item is not None) - (store.get(partition, key) is not None)
        return store.oldest(partition, count - most, self._newer) if count > most else ()

    async def forget(self, event: Taken, touch: Touch) -> str:
        """Take somebody out of all items at once, and say so on the log.

        Raises:
            Stale: the partition has moved; whoever has it now does it.
        """
        async with self._writing:
            self._check_kept()
            for key in await self._keys_with(touch.taker):
                item = self._item(key)
                without = None if item is None else forget(item, touch)
                if without is not None:
                    self._newer[key] = without if without.takers else None
                    self._dirty.add(key)
            # With them all that was heard before: it came first, and is on the log when the answer is.
            await self._write(event)
            if touch.forgotten and touch.forgotten != NOBODY_ASKS:
                await self._pipeline.send(event, ItemMemory.TOPIC, FORGOTTEN, to_json(touch.forgotten), self.partition)
            self._events.append(event)
        await self.flush()
        return "forgotten"

    async def _keys_with(self, neighbour: str) -> list[bytes]:
        """Keys of the items that have this taker, on the log or in what is newer."""
        newer = [
            key for key, item in self._newer.items() if item and any(t.neighbour == neighbour for t in item.takers)
        ]
        return list(dict.fromkeys([*newer, *await self._items.holding(self.partition, neighbour)]))


def _in_parts(keys: Sequence[bytes], most: int) -> Iterator[Sequence[bytes]]:
    return (keys[start : start + most] for start in range(0, len(keys), most))


async def _all(sends: Iterable[Awaitable[None]]) -> None:
    """Wait for all of them, also where one fails: what is on its way must not outlive its flush.

    Raises:
        Stale: the partition has moved.
    """
    for result in await asyncio.gather(*sends, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
