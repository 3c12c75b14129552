"""Tables that write their changelog first, and their stores.

A store knows the offset up to which it is complete. Recovery continues there: after a start on an existing disk or a
rebalance, and when a standby takes over.
"""

import asyncio
from collections import defaultdict
from collections.abc import ItemsView, Sequence
from typing import Any

import faust
from faust.stores import memory, rocksdb
from faust.types import TP
from yarl import URL

from schemas import key_prefix
from streams.caching import compressed, decompressed
from streams.worker.runtime.producer import RecordPosition

# Keys that are scanned before other tasks run.
KEYS_PER_TURN = 20_000


class MemoryStore(memory.Store[bytes, bytes]):
    """Compressed values in a dictionary, and apart, those of standby partitions."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keys: dict[int, set[bytes]] = {}
        self._standby: dict[int, dict[bytes, bytes]] = {}
        self._reached: dict[int, int] = {}

    def __getitem__(self, key: bytes) -> bytes:
        return decompressed(self.data[key])

    def __setitem__(self, key: bytes, value: bytes) -> None:
        self.data[key] = compressed(value)

    def stored_bytes(self, key: bytes) -> bytes | None:
        """Return the stored form of a value, for comparisons."""
        found: bytes | None = self.data.get(key)
        return found

    def items(self) -> ItemsView[bytes, bytes]:
        """Return keys and values."""
        return {key: decompressed(value) for key, value in self.data.items()}.items()

    def persisted_offset(self, tp: TP) -> int | None:
        """Return the offset up to which this partition is complete."""
        return self._reached.get(tp.partition)

    def set_persisted_offset(self, tp: TP, offset: int) -> None:
        """Set the offset up to which this partition is complete."""
        self._reached[tp.partition] = offset

    def entries(self) -> int:
        """Return the number of entries."""
        return len(self.data)

    def store_value(self, tp: TP, key: bytes, value: bytes | None, reached: int | None) -> None:
        """Set or drop a value, and set the offset reached."""
        keys = self._keys.setdefault(tp.partition, set())
        if value is None:
            self.data.pop(key, None)
            keys.discard(key)
        else:
            self.data[key] = compressed(value)
            keys.add(key)
        if reached is not None:
            self._reached[tp.partition] = reached

    def apply_changelog(self, tp: TP, records: Sequence[Any]) -> None:
        """Apply records of the changelog."""
        partition = tp.partition
        standby = self._standby.get(partition)
        values = self.data if standby is None else standby
        keys = self._keys.setdefault(partition, set()) if standby is None else set[bytes]()
        for record in records:
            if record.value is None:
                values.pop(record.key, None)
                keys.discard(record.key)
            elif record.key is not None:
                values[record.key] = compressed(record.value)
                keys.add(record.key)
        self._reached[partition] = records[-1].offset

    def assign(self, active: set[int], standby: set[int]) -> None:
        """Keep the values of these partitions, and drop all others."""
        for partition in (self._keys.keys() | self._standby.keys() | self._reached.keys()) - active - standby:
            self._standby.pop(partition, None)
            self._reached.pop(partition, None)
            for key in self._keys.pop(partition, ()):
                self.data.pop(key, None)
        for partition in standby - self._standby.keys():
            keys = self._keys.pop(partition, ())
            self._standby[partition] = {key: self.data.pop(key) for key in keys if key in self.data}
        for partition in active & self._standby.keys():
            taken_over = self._standby.pop(partition)
            self.data.update(taken_over)
            self._keys[partition] = set(taken_over)

    async def on_recovery_completed(self, active_tps: set[TP], standby_tps: set[TP]) -> None:
        """Do nothing: Faust would drop the values of standby partitions."""


class RocksdbStore(rocksdb.Store):
    """Values in one RocksDB per partition, which compresses them."""

    def stored_bytes(self, key: bytes) -> bytes | None:
        """Return a value as it is stored."""
        found: bytes | None = self.get(key)
        return found

    def entries(self) -> int:
        """Return the number of entries, as RocksDB estimates it."""
        return sum(share.property_int_value("rocksdb.estimate-num-keys") or 0 for share in list(self._dbs.values()))

    def store_value(self, tp: TP, key: bytes, value: bytes | None, reached: int | None) -> None:
        """Set or drop a value and set the offset, atomically."""
        batch = rocksdb.WriteBatch(raw_mode=True)
        if value is None:
            batch.delete(key)
        else:
            batch.put(key, value)
            self._key_index[key] = tp.partition
        if reached is not None:
            batch.put(self.offset_key, b"%d" % reached)
        self._db_for_partition(tp.partition).write(batch)

    def apply_changelog(self, tp: TP, records: Sequence[Any]) -> None:
        """Apply records of the changelog and their last offset, atomically."""
        batch = rocksdb.WriteBatch(raw_mode=True)
        for record in records:
            if record.key is None:
                continue
            if record.value is None:
                batch.delete(record.key)
            else:
                batch.put(record.key, record.value)
        batch.put(self.offset_key, b"%d" % records[-1].offset)
        self._db_for_partition(tp.partition).write(batch)

    def assign(self, active: set[int], standby: set[int]) -> None:
        """Do nothing: a revoked partition stays on disk for a later recovery."""


_NO_OFFSET = -1
# Keys are schemes of Faust's setting `store`.
STORES = {"memory": MemoryStore, "rocksdb": RocksdbStore}


class InflightWrites:
    """Tracks writes in flight to one partition of a changelog.

    The later of two writes can be acknowledged first, so the store may be complete only up to an earlier offset: the
    newest one acknowledged before the oldest open write began.
    """

    def __init__(self) -> None:
        self._newest = _NO_OFFSET
        self._behind: dict[bytes, int] = {}

    def begin(self, key: bytes) -> None:
        """Record that a value of this key is about to be sent."""
        self._behind.setdefault(key, self._newest)

    def complete(self, key: bytes, offset: int) -> int | None:
        """Return the offset up to which the store is complete, if known.

        It is unknown for a write that began before a rebalance.
        """
        if self._behind.pop(key, None) is None:
            return None
        self._newest = max(self._newest, offset)
        reached = next(iter(self._behind.values()), self._newest)
        return None if reached == _NO_OFFSET else reached

    def cancel(self, key: bytes) -> None:
        """Drop a write that the broker refused for its size."""
        self._behind.pop(key, None)


class LogFirstTable(faust.Table):
    """Repair 4: a table whose values are all on its changelog already."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Writes in flight to the changelog, by partition.
        self.writes: defaultdict[int, InflightWrites] = defaultdict(InflightWrites)
        self._lost: set[int] = set()
        self._standby: set[int] = set()

    def _new_store_by_url(self, url: Any) -> Any:
        return STORES[URL(url).scheme](
            url,
            self.app,
            self,
            table_name=self.name,
            key_type=self.key_type,
            key_serializer=self.key_serializer,
            value_type=self.value_type,
            value_serializer=self.value_serializer,
            options=self.options,
        )

    async def on_rebalance(self, assigned: Any, revoked: Any, newly_assigned: Any, generation_id: int = 0) -> None:
        """Keep the values of this worker's partitions."""
        active, standby = (
            {tp.partition for tp in tps if tp.topic == self.changelog_topic_name}
            for tps in (self.app.assignor.assigned_actives(), self.app.assignor.assigned_standbys())
        )
        self.writes.clear()  # recovery reads those that arrived
        self._lost = set(range(self.partitions)) - active - standby
        self._standby = standby
        self.data.assign(active, standby)
        await super().on_rebalance(assigned, revoked, newly_assigned, generation_id)

    def apply_changelog(self, tp: TP, records: Sequence[Any]) -> bool:
        """Apply changelog records; return false if the partition is not ours."""
        if tp.partition in self._lost:
            return False
        self.data.apply_changelog(tp, records)
        return True

    def stored_bytes(self, key: bytes) -> bytes | None:
        """Return the stored form of a value, to detect changes."""
        found: bytes | None = self.data.stored_bytes(key)
        return found

    def store_value(self, key: bytes, value: bytes | None, sent: RecordPosition) -> None:
        """Set or drop a changelog's value, if its partition is active."""
        tp, offset = sent
        if tp.partition not in self._lost and tp.partition not in self._standby:
            self.data.store_value(tp, key, value, self.writes[tp.partition].complete(key, offset))

    async def keys_of(self, owner: str) -> list[bytes]:
        """Return the keys `[owner, ...]`, by a scan without index."""
        start, found = key_prefix(owner), []
        for number, key in enumerate(tuple(self.data), 1):
            if key.startswith(start):
                found.append(key)
            if number % KEYS_PER_TURN == 0:
                await asyncio.sleep(0)
        return found

    async def scrub(self) -> None:
        """Compact RocksDB, so that deleted values leave the disk."""
        for database in list(getattr(self.data, "_dbs", {}).values()):
            await asyncio.to_thread(_compact, database)


def _compact(database: Any) -> None:
    from rocksdict import BottommostLevelCompaction, CompactOptions  # noqa: PLC0415 - an optional extra

    options = CompactOptions()
    # By default RocksDB moves files to the last level without rewriting them, and deleted values stay on disk.
    options.set_bottommost_level_compaction(BottommostLevelCompaction.force())
    database.flush()
    database.compact_range(None, None, options)
