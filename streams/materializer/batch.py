"""What a micro-batch comes to: per table and key at most one row, the one that would stand at its end.

Reduced here and not in SQL: DuckDB's upserts keep the first of two rows with one key in silence.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from streams.materializer.columns import Keep, Table
from streams.materializer.records import Drop, Put, RowKey


@dataclass(slots=True)
class Pending:
    """What is to happen to one key: first drop what is there, if so, then put, if anything."""

    dropped: bool = False
    put: Put | None = None


class Batch:
    """The reduced sum of records added in log order."""

    def __init__(self) -> None:
        self._pending: dict[str, dict[RowKey, Pending]] = {}

    def add(self, change: Put | Drop) -> None:
        """Takes the next record's change into account."""
        pending = self._pending.setdefault(change.table.name, {}).setdefault(change.key, Pending())
        if isinstance(change, Drop):
            pending.dropped, pending.put = True, None
        elif change.replaces:
            pending.dropped, pending.put = True, change
        elif pending.put is None or _replaces(change, pending.put):
            pending.put = change

    def pending(self, table: Table) -> Mapping[RowKey, Pending]:
        """What is to happen in one table, by key."""
        return self._pending.get(table.name, {})


def _replaces(later: Put, earlier: Put) -> bool:
    if later.table.keep is Keep.NEWEST:
        version = later.table.version_column
        return bool(later.row[version] >= earlier.row[version])
    return later.table.keep is Keep.LAST
