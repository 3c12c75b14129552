"""Kafka records, their row changes, and the net change of a batch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from schemas import Topic, moment_of
from streams.analytics.schema import Keep, Table

Row = dict[str, Any]  # a row's values by column
RowKey = tuple[Any, ...]  # the values of a table's key columns, in the order of `table.key`


def utc(moment: datetime) -> datetime:
    """Return the moment as a TIMESTAMP column stores it: naive, in UTC."""
    return moment.astimezone(UTC).replace(tzinfo=None)


@dataclass(frozen=True, slots=True)
class KafkaRecord:
    """A Kafka record; `timestamp_ms` is 0 if Kafka has none."""

    topic: Topic
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None

    @property
    def logged_at(self) -> datetime | None:
        """The Kafka timestamp in UTC, if any."""
        return moment_of(self.timestamp_ms) if self.timestamp_ms else None


@dataclass(frozen=True, slots=True)
class Put:
    """A row to write; `replaces` overwrites even a kept first row."""

    table: Table
    row: Row
    children: tuple[list[Row], ...] = ()
    replaces: bool = False

    @property
    def key(self) -> RowKey:
        """The values of the key columns."""
        return tuple(self.row[name] for name in self.table.key)

    def tables(self) -> Iterator[tuple[Table, Sequence[Row]]]:
        """Yield the table with its row, then child tables with theirs."""
        yield self.table, (self.row,)
        yield from zip(self.table.children, self.children, strict=True)


@dataclass(frozen=True, slots=True)
class Drop:
    """A row to delete, with its children."""

    table: Table
    key: RowKey


@dataclass(slots=True)
class PendingChange:
    """The change to one key: an optional drop, then an optional put."""

    dropped: bool = False
    put: Put | None = None


class ChangeSet:
    """The net change of records, at most one row per key."""

    # DuckDB's upserts silently keep the first of two rows with one key, so SQL cannot do this.

    def __init__(self) -> None:
        self._pending: dict[str, dict[RowKey, PendingChange]] = {}

    def add(self, change: Put | Drop) -> None:
        """Add the next record's change."""
        pending = self._pending.setdefault(change.table.name, {}).setdefault(change.key, PendingChange())
        if isinstance(change, Drop):
            pending.dropped, pending.put = True, None
        elif change.replaces:
            pending.dropped, pending.put = True, change
        elif pending.put is None or change.table.keep is Keep.LAST:
            pending.put = change
        elif change.table.keep is Keep.NEWEST:
            version = change.table.version
            pending.put = change if change.row[version] >= pending.put.row[version] else pending.put

    def pending(self, table: Table) -> Mapping[RowKey, PendingChange]:
        """Return the changes to one table, by key."""
        return self._pending.get(table.name, {})
