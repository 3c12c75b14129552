"""A Kafka record on its way into DuckDB, and the two things that may become of it."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from schemas import Topic
from streams.materializer.columns import Table

Row = tuple[Any, ...]
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # TIMESTAMP columns are naive and in UTC


def from_ms(milliseconds: int) -> datetime:
    """The UTC moment of a Kafka timestamp; the epoch where a hostile one is out of range."""
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return _EPOCH


def utc(moment: datetime) -> datetime:
    """The moment as a TIMESTAMP column wants it: naive, in UTC."""
    return moment.astimezone(UTC).replace(tzinfo=None)


def envelope(event: Any) -> Row:
    """The values of `fields.ENVELOPE`."""
    return (event.user_id, event.event_id, utc(event.occurred_at))


@dataclass(frozen=True, slots=True)
class Record:
    """A Kafka record, reduced to what becomes of it. `timestamp_ms` is 0 where Kafka has none."""

    topic: Topic
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None

    @property
    def provenance(self) -> Row:
        """The values of `fields.PROVENANCE`."""
        return (from_ms(self.timestamp_ms), self.partition, self.offset)

    @property
    def logged_at(self) -> datetime | None:
        """Its Kafka timestamp, in UTC; None where there is none."""
        return from_ms(self.timestamp_ms).replace(tzinfo=UTC) if self.timestamp_ms else None

    @property
    def document(self) -> str:
        """The value as text; JSON that was decoded is UTF-8."""
        return (self.value or b"").decode()


@dataclass(frozen=True, slots=True)
class Put:
    """A row to be there, and all rows of the child tables that belong to it, in the order of `table.children`."""

    table: Table
    row: Row
    children: tuple[list[Row], ...] = ()
    replaces: bool = False
    """Whether it takes the place of the row that is there, in a table that keeps the first one."""

    @property
    def key(self) -> Row:
        """The key columns' values."""
        return self.row[: len(self.table.key)]


@dataclass(frozen=True, slots=True)
class Drop:
    """A row that is to be gone, with its children."""

    table: Table
    key: Row
