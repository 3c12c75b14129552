"""Reduces a micro-batch to at most one row per table and key: the one that would remain at its end.

This is done here and not in SQL, because DuckDB's upserts silently keep the first of two rows with one key.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from streams.materializer.columns import Keep, Table
from streams.materializer.records import Drop, Put, RowKey


@dataclass(slots=True)
class Pending:
    """The change to one key: first the drop, if any, then the put, if any."""

    dropped: bool = False
    put: Put | None = None


class Batch:
    """The net effect of records added in log order."""

    def __init__(self) -> None:
        self._pending: dict[str, dict[RowKey, Pending]] = {}

    def add(self, change: Put | Drop) -> None:
        """Adds the next record's change."""
        pending = self._pending.setdefault(change.table.name, {}).setdefault(change.key, Pending())
        if isinstance(change, Drop):
            pending.dropped, pending.put = True, None
        elif change.replaces:
            pending.dropped, pending.put = True, change
        elif pending.put is None or _replaces(change, pending.put):
            pending.put = change

    def pending(self, table: Table) -> Mapping[RowKey, Pending]:
        """The changes to one table, by key."""
        return self._pending.get(table.name, {})


def _replaces(later: Put, earlier: Put) -> bool:
    if later.table.keep is Keep.NEWEST:
        version = later.table.version_column
        return bool(later.row[version] >= earlier.row[version])
    return later.table.keep is Keep.LAST
