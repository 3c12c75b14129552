"""Columns with their DuckDB and Arrow types, and the rule by which a row replaces another."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pyarrow as pa

_ARROW: dict[str, Any] = {
    "VARCHAR": pa.string(),
    "VARCHAR[]": pa.list_(pa.string()),
    "BIGINT": pa.int64(),
    "INTEGER": pa.int32(),
    "DOUBLE": pa.float64(),
    "DOUBLE[]": pa.list_(pa.float64()),
    "BOOLEAN": pa.bool_(),
    # Plain TIMESTAMP in UTC: TIMESTAMPTZ needs pytz in every Python reader, and shows in the reader's time zone.
    "TIMESTAMP": pa.timestamp("us"),
    "BLOB": pa.binary(),
}


class Keep(Enum):
    """Which of two rows with the same key is kept."""

    FIRST = "first"
    """Events: a second one is a duplicate, from a producer's retry or a topic read again."""
    LAST = "last"
    """Compacted topics without a version: the later record wins, as in Kafka's compaction."""
    NEWEST = "newest"
    """Compacted topics with a version: an older version never overwrites a newer one, an equal one does."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column, with the comment that analysts see in `duckdb_columns()`."""

    name: str
    type: str
    comment: str


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """One table. Its first columns are its key, in that order; with `Keep.NEWEST` the version comes next.

    Attributes:
        children: long tables whose rows come and go with a row of this one; they begin with this table's key
            and have no key of their own, because an index on them would cost more than the rest of the write.
        schema: the Arrow schema of the columns, in order.
        column_set: the columns' names, which every row must match exactly.
        numbers: the names of its BIGINT columns.
    """

    name: str
    comment: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    keep: Keep = Keep.FIRST
    children: tuple["Table", ...] = ()
    schema: Any = field(init=False, repr=False)
    column_set: frozenset[str] = field(init=False, repr=False)
    numbers: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if tuple(c.name for c in self.columns[: len(self.key)]) != self.key:
            raise ValueError(f"the columns of {self.name} must begin with its key {self.key}")
        object.__setattr__(self, "schema", pa.schema([(c.name, _ARROW[c.type]) for c in self.columns]))
        object.__setattr__(self, "column_set", frozenset(self.names))
        object.__setattr__(self, "numbers", tuple(c.name for c in self.columns if c.type == "BIGINT"))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(c.name for c in self.columns)

    @property
    def version_column(self) -> str:
        """The column that says which of two rows is newer."""
        return self.columns[len(self.key)].name


def text(name: str, comment: str) -> Column:
    """A VARCHAR column."""
    return Column(name, "VARCHAR", comment)


def texts(name: str, comment: str) -> Column:
    """A column of lists of VARCHAR."""
    return Column(name, "VARCHAR[]", comment)


def number(name: str, comment: str) -> Column:
    """A BIGINT column: the widest, because incoming integers are unbounded."""
    return Column(name, "BIGINT", comment)


def real(name: str, comment: str) -> Column:
    """A DOUBLE column."""
    return Column(name, "DOUBLE", comment)


def reals(name: str, comment: str) -> Column:
    """A column of lists of DOUBLE."""
    return Column(name, "DOUBLE[]", comment)


def flag(name: str, comment: str) -> Column:
    """A BOOLEAN column."""
    return Column(name, "BOOLEAN", comment)


def moment(name: str, comment: str) -> Column:
    """A TIMESTAMP column, in UTC."""
    return Column(name, "TIMESTAMP", comment + " (UTC)")
