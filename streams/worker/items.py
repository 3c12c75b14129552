"""The item graph in a worker: its items and their updates.

A follower reads the topic `item-memories` into the store. Agents read the store, and send updates to the owners.
"""

import asyncio
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from confluent_kafka import Message
from pydantic_core import from_json

from operators.graph.items import GraphLimits, MemoryUpdate, neighbour_of, split_by_partition
from operators.graph.neighbours import ItemSummary, Neighbourhood, neighbourhood_of
from schemas import BadRecord, ItemMemory, ItemUpdate, Memory, compound_key, decode, encode, epoch_of
from streams.caching import LruCache, compressed, decompressed
from streams.kafka.clients import partition_of
from streams.kafka.follower import Follower
from streams.kafka.scanner import int_of
from streams.settings import Settings
from streams.worker.runtime.producer import Producer
from streams.worker.tables import Tables

# The key of an owner's report of an erasure. Keys of items have two parts.
ERASURE_KEY = b'["forgotten"]'
# Beginnings of item values: `epoch` is omitted if it is 0.
ITEM_PREFIXES = b'{"epoch":', b'{"domain":'
# Values searched per turn of the event loop.
VALUES_PER_TURN = 5_000
# Decoded items to cache: decoding costs more than the rest of an update.
CACHED_ITEMS = 4_000
MAX_REPORTS, POLL_SECONDS = 10_000, 0.02


class ItemStore:
    """A copy of `item-memories`: compressed items, the least recently written first.

    The follower's thread writes; the event loop reads.
    """

    def __init__(self) -> None:
        self._shares: dict[int, OrderedDict[bytes, bytes]] = defaultdict(OrderedDict)
        self._next: dict[int, int] = {}
        self._lock = threading.Lock()

    def get(self, partition: int, key: bytes) -> bytes | None:
        """Return a key's decompressed value, if any."""
        value = self._shares[partition].get(key)
        return None if value is None else decompressed(value)

    def keys(self, partition: int) -> list[bytes]:
        """Return a partition's keys, the least recently written first."""
        with self._lock:
            return list(self._shares[partition])

    def oldest(self, partition: int, limit: int, exclude: Collection[bytes]) -> list[bytes]:
        """Return the first `limit` keys that are not in `exclude`."""
        with self._lock:
            return list(islice((key for key in self._shares[partition] if key not in exclude), limit))

    def count(self, partition: int) -> int:
        """Return the number of items of a partition."""
        return len(self._shares[partition])

    def entries(self) -> int:
        """Return the number of items."""
        return sum(map(len, list(self._shares.values())))

    def position(self, partition: int) -> int:
        """Return the offset after the last record that was read."""
        return self._next.get(partition, 0)

    def skip(self, partition: int, offset: int) -> None:
        """Record that a record without an item was read."""
        self._next[partition] = offset + 1

    def put(self, partition: int, offset: int, key: bytes, value: bytes | None) -> None:
        """Apply a record of the log; None removes."""
        value = None if value is None else compressed(value)
        with self._lock:
            share = self._shares[partition]
            if value is None:
                share.pop(key, None)
            else:  # `pop` first would hide the item from a reader in between
                share[key] = value
                share.move_to_end(key)
        self._next[partition] = offset + 1


class ItemGraph:
    """The store of all items, and the follower of their topic."""

    def __init__(self, settings: Settings, limits: GraphLimits) -> None:
        self._settings, self._limits = settings, limits
        self.store = ItemStore()
        self._log = Follower(settings, [ItemMemory.TOPIC], self._take)
        self._decoded: LruCache[bytes, tuple[bytes, ItemSummary]] = LruCache(CACHED_ITEMS)
        self._erasure_reports: LruCache[tuple[int, str], bool] = LruCache(MAX_REPORTS)

    def start(self) -> None:
        """Read the topic to its end, then follow it."""
        self._log.read_all()

    # --- for agents, in the event loop

    def read(self, key: bytes, partition: int) -> ItemSummary | None:
        """Return an item from the store; None without a valid one."""
        raw = self.store.get(partition, key)
        if raw is None:
            return None
        kept = self._decoded.get(key)
        if kept is not None and kept[0] == raw:
            return kept[1]
        try:
            item = decode(ItemMemory, raw)
        except BadRecord:
            return None
        if compound_key(item.item_id, item.domain) != key:  # it would be written under another key
            return None
        found = ItemSummary(item, self._limits)
        self._decoded.put(key, (raw, found))
        return found

    def epochs(self, memory: Memory | None) -> tuple[int, ...]:
        """Return the epochs of a memory's items, to cache its neighbourhood."""
        return tuple(epoch_of(self.store.get(*where) or b"") for where in self._keys_of(memory))

    def neighbourhood(self, memory: Memory | None) -> Neighbourhood:
        """Return the neighbourhood of a memory's user."""
        if memory is None:
            return Neighbourhood()
        found = (self.read(key, partition) for partition, key in self._keys_of(memory))
        reader = neighbour_of(memory.user_id, self._limits.secret)
        return neighbourhood_of((each for each in found if each is not None), reader)

    def _keys_of(self, memory: Memory | None) -> Sequence[tuple[int, bytes]]:
        if memory is None:
            return ()
        partitions = self._settings.partitions
        return [
            (partition_of(each.item_id, partitions), compound_key(each.item_id, memory.domain)) for each in memory.taken
        ]

    async def reach_end(self, partition: int) -> None:
        """Wait until all records that a partition has now are applied."""
        reached = self._log.reach_end(ItemMemory.TOPIC, partition)
        while not reached.is_set():  # noqa: ASYNC110 - a thread sets it
            await asyncio.sleep(POLL_SECONDS)

    async def keys_with_taker(self, partition: int, neighbour: str) -> list[bytes]:
        """Return the keys of a partition's stored items with this taker."""
        sought, found = neighbour.encode(), list[bytes]()
        for number, key in enumerate(self.store.keys(partition), 1):
            if sought in (self.store.get(partition, key) or b""):
                found.append(key)
            if number % VALUES_PER_TURN == 0:
                await asyncio.sleep(0)
        return found

    def has_erased(self, partition: int, request: str) -> bool:
        """Return true if the owner of a partition has reported this erasure."""
        return self._erasure_reports.get((partition, request)) is not None

    # --- for the follower, in a thread of its own

    def _take(self, message: Message) -> None:
        where = int_of(message.partition()), int_of(message.offset())
        self.take(*where, message.key() or b"", message.value())

    def take(self, partition: int, offset: int, key: bytes, value: bytes | None) -> None:
        """Apply a record of the topic."""
        if key == ERASURE_KEY:
            with suppress(ValueError):
                self._erasure_reports.put((partition, str(from_json(value or b""))), True)
            self.store.skip(partition, offset)
            return
        # Other values are forged, and may hold users' ids.
        readable = value if value and value.startswith(ITEM_PREFIXES) else None
        self.store.put(partition, offset, key, readable)


async def remember(tables: Tables, producer: Producer, event: Any, remembered: MemoryUpdate | None) -> None:
    """Send the update, then write the memory; callers hold the memory's lock."""
    if remembered is None:
        return
    if remembered.touch is not None:
        await send_touches(producer, event, remembered.touch)
    memory = remembered.memory
    await tables.memories.write(event, compound_key(memory.user_id, memory.domain), memory)


async def send_touches(producer: Producer, event: Any, touch: ItemUpdate) -> None:
    """Send an update to its items' owners, one record per partition."""
    parts = split_by_partition(touch, lambda item_id: partition_of(item_id, producer.partitions))
    await asyncio.gather(*(send_touch(producer, event, part, partition) for partition, part in parts.items()))


async def send_touch(producer: Producer, event: Any, touch: ItemUpdate, partition: int) -> None:
    """Send an update to one partition."""
    await producer.send(event, ItemUpdate.TOPIC, touch.taker.encode(), encode(touch), partition)
