"""A worker's tables as decoded values, and the locks for sharing them."""

import asyncio
from collections.abc import Mapping
from typing import Any, Generic
from weakref import WeakValueDictionary

from schemas import Card, Memory, Model, OpenRankings, PendingConversations, PolicySkill, Profile, Receipt, Weights
from schemas.codec import ModelT, decode, encode, subject_digest
from streams.caching import LruCache
from streams.worker.runtime.producer import MessageSizeTooLarge, Producer, RecordPosition
from streams.worker.runtime.state import LogFirstTable

DECODED_VALUES = 4_000

_Decoded = LruCache[tuple[str, bytes], tuple[bytes, Model]]


class StateTable(Generic[ModelT]):
    """One table with a cache of decoded values."""

    # Decoding costs more than the rest of a stage's work.

    def __init__(self, table: LogFirstTable, model: type[ModelT], producer: Producer, decoded: _Decoded) -> None:
        self.table, self.name = table, str(table.name)
        self._model, self._producer, self._decoded = model, producer, decoded
        self._locks: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()

    def lock(self, key: bytes) -> asyncio.Lock:
        """Return the lock of a value that several agents write."""
        return self._locks.setdefault(key, asyncio.Lock())

    def read(self, key: bytes) -> ModelT | None:
        """Return a value, from the cache if the table has not changed."""
        stored = self.table.stored_bytes(key)
        if stored is None:
            return None
        cached = self._decoded.get((self.name, key))
        if cached is not None and cached[0] == stored and isinstance(cached[1], self._model):
            return cached[1]
        value = decode(self._model, self.table.get(key))
        self._decoded.put((self.name, key), (stored, value))
        return value

    async def write(self, event: Any, key: bytes, value: ModelT) -> None:
        """Set a value once the changelog has it, or raise PartitionRevoked."""
        raw, before = encode(value), self.table.stored_bytes(key)
        sent = await self._send(event, key, raw)
        # After a rebalance, recovery may have set a newer value from the changelog already.
        if event.generation_id == self._producer.generation() or self.table.stored_bytes(key) == before:
            self.table.store_value(key, raw, sent)
            if (stored := self.table.stored_bytes(key)) is not None:
                self._decoded.put((self.name, key), (stored, value))

    async def delete(self, event: Any, key: bytes) -> None:
        """Remove a value once the changelog has it; raises as `write` does."""
        sent = await self._send(event, key, None)
        if event.generation_id == self._producer.generation():
            self.table.store_value(key, None, sent)
        self._decoded.drop((self.name, key))

    async def _send(self, event: Any, key: bytes, raw: bytes | None) -> RecordPosition:
        writes = self.table.writes[event.partition]
        writes.begin(key)
        try:
            return await self._producer.send(event, self.name, key, raw, event.partition)
        except MessageSizeTooLarge:
            writes.cancel(key)
            raise


class Tables:
    """All tables of a worker, and the locks of its users."""

    def __init__(self, faust_tables: Mapping[str, LogFirstTable], producer: Producer) -> None:
        self.by_name = faust_tables
        decoded: _Decoded = LruCache(DECODED_VALUES)
        self._user_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

        def table(base: str, model: type[ModelT]) -> StateTable[ModelT]:
            return StateTable(faust_tables[base], model, producer, decoded)

        self.skills = table("skills", PolicySkill)
        self.profiles = table("profiles", Profile)
        self.memories = table("memories", Memory)
        self.open_rankings = table("open-rankings", OpenRankings)
        self.receipts = table("receipts", Receipt)
        self.cards = table("cards", Card)
        self.conversations = table("conversations", PendingConversations)
        self.weights = table("weights", Weights)

    def user_lock(self, user_id: str) -> asyncio.Lock:
        """Return the lock of a user's state; holders call no model."""
        return self._user_locks.setdefault(user_id, asyncio.Lock())

    def receipt(self, user_id: str) -> Receipt | None:
        """Return the user's receipt; None without an erasure."""
        return self.receipts.read(subject_digest(user_id).encode())

    def erasure_epoch(self, user_id: str) -> str:
        """Return a cache-busting token that changes after any erasure for this user."""
        raw = self.receipts.table.stored_bytes(subject_digest(user_id).encode())
        return "" if raw is None else str(hash(raw))
