"""Where a table's values are: Faust's stores, filled in batches, each batch together with the offset that it reaches.

A store knows how far into each partition of its changelog it holds everything. Recovery goes on from there: after a
start on a kept disk, after a rebalance, and where a standby takes over.
"""

from collections.abc import Sequence
from typing import Any

from faust.stores import memory, rocksdb
from faust.types import TP


class MemoryStore(memory.Store[bytes, bytes]):
    """Values in a dictionary; those of standby partitions apart, as no agent may see or scan them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._keys: dict[int, set[bytes]] = {}
        self._standby: dict[int, dict[bytes, bytes]] = {}
        self._reached: dict[int, int] = {}

    def persisted_offset(self, tp: TP) -> int | None:
        """The offset up to which this partition is held; None: nothing is."""
        return self._reached.get(tp.partition)

    def set_persisted_offset(self, tp: TP, offset: int) -> None:
        """Set the offset up to which this partition is held."""
        self._reached[tp.partition] = offset

    def hold(self, tp: TP, key: bytes, value: bytes | None, reached: int | None) -> None:
        """Take a value in, or drop it, and the offset up to which the partition is held now."""
        keys = self._keys.setdefault(tp.partition, set())
        if value is None:
            self.data.pop(key, None)
            keys.discard(key)
        else:
            self.data[key] = value
            keys.add(key)
        if reached is not None:
            self._reached[tp.partition] = reached

    def absorb(self, tp: TP, records: Sequence[Any]) -> None:
        """Take in records of the changelog."""
        partition = tp.partition
        standby = self._standby.get(partition)
        if standby is not None:
            _fill(standby, records)
        else:
            keys, data = self._keys.setdefault(partition, set()), self.data
            for record in records:
                if record.value is None:
                    data.pop(record.key, None)
                    keys.discard(record.key)
                elif record.key is not None:
                    data[record.key] = record.value
                    keys.add(record.key)
        self._reached[partition] = records[-1].offset

    def assign(self, active: set[int], standby: set[int]) -> None:
        """Keep the values of these partitions, where an agent sees them or apart, and drop all others."""
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
        """Do nothing: Faust would drop what standby partitions hold, and `assign` has dropped what is to go."""


class RocksdbStore(rocksdb.Store):
    """Values in one RocksDB per partition."""

    def hold(self, tp: TP, key: bytes, value: bytes | None, reached: int | None) -> None:
        """Take a value in, or drop it, and the offset up to which the partition is held now: both or none."""
        batch = rocksdb.WriteBatch(raw_mode=True)
        if value is None:
            batch.delete(key)
        else:
            batch.put(key, value)
            self._key_index[key] = tp.partition
        if reached is not None:
            batch.put(self.offset_key, b"%d" % reached)
        self._db_for_partition(tp.partition).write(batch)

    def absorb(self, tp: TP, records: Sequence[Any]) -> None:
        """Take in records of the changelog, and their last offset: all or nothing."""
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
        """Do nothing: a partition that is gone stays on disk, and is taken up where it stands when it comes back."""


_NOWHERE = -1
STORES = {"memory": MemoryStore, "rocksdb": RocksdbStore}
"""By the scheme of Faust's setting `store`."""


class Writes:
    """What is on its way to one partition of a changelog.

    A store may say that it holds a partition up to an offset only once it holds everything before: of two writes the
    later one can be acknowledged, and held, first. A write comes behind whatever was acknowledged before it began.
    """

    def __init__(self) -> None:
        self._newest = _NOWHERE
        self._behind: dict[bytes, int] = {}

    def begins(self, key: bytes) -> None:
        """A value of this key is about to be sent, perhaps once more."""
        self._behind.setdefault(key, self._newest)

    def is_held(self, key: bytes, offset: int) -> int | None:
        """The offset up to which everything is held, now that this value is; None: that is not known.

        Nothing follows from a write that did not begin here, but before a rebalance.
        """
        if self._behind.pop(key, None) is None:
            return None
        self._newest = max(self._newest, offset)
        reached = next(iter(self._behind.values()), self._newest)
        return None if reached == _NOWHERE else reached

    def ends(self, key: bytes) -> None:
        """A value is not on the changelog and will not be: the broker takes none of its size."""
        self._behind.pop(key, None)


def _fill(values: dict[bytes, bytes], records: Sequence[Any]) -> None:
    for record in records:
        if record.value is None:
            values.pop(record.key, None)
        elif record.key is not None:
            values[record.key] = record.value
