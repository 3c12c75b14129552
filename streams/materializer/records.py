"""A Kafka record on its way into DuckDB, and the change that it makes there: a row to put or a row to drop."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from schemas import ReasonedBy, Topic, moment_of
from streams.kafka.packed import unpack
from streams.materializer.columns import Table

Row = dict[str, Any]
"""A row's values by column."""
RowKey = tuple[Any, ...]
"""The values of a table's key columns, in the order of `table.key`."""
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # TIMESTAMP columns are naive and in UTC


def from_ms(milliseconds: int) -> datetime:
    """The UTC moment of a Kafka timestamp; the epoch where a hostile one is out of range."""
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return _EPOCH


def utc(moment: datetime) -> datetime:
    """The moment as a TIMESTAMP column holds it: naive, in UTC."""
    return moment.astimezone(UTC).replace(tzinfo=None)


def envelope(event: Any) -> Row:
    """The columns of `fields.ENVELOPE`."""
    return {"user_id": event.user_id, "event_id": event.event_id, "occurred_at": utc(event.occurred_at)}


def reasoned(by: ReasonedBy) -> Row:
    """The columns of `fields.REASONED`."""
    return {
        "reasoner": by.reasoner,
        "model": by.model,
        "prompt": by.prompt,
        "prompt_hash": by.prompt_hash,
        "calls": by.calls,
        "prompt_tokens": by.prompt_tokens,
        "completion_tokens": by.completion_tokens,
        "latency_ms": by.latency_ms,
        "fallback": by.fallback,
        "gated": by.gated,
    }


@dataclass(frozen=True, slots=True)
class Record:
    """A Kafka record, reduced to what rows need. `timestamp_ms` is 0 where Kafka has none."""

    topic: Topic
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None

    @property
    def provenance(self) -> Row:
        """The columns of `fields.PROVENANCE`."""
        return {
            "logged_at": from_ms(self.timestamp_ms),
            "kafka_partition": self.partition,
            "kafka_offset": self.offset,
        }

    @property
    def logged_at(self) -> datetime | None:
        """Its Kafka timestamp, in UTC; None where there is none."""
        return moment_of(self.timestamp_ms) if self.timestamp_ms else None

    @property
    def document(self) -> str:
        """The value as text, unpacked; JSON that was decoded is UTF-8."""
        return unpack(self.value or b"").decode()


@dataclass(frozen=True, slots=True)
class Put:
    """A row to write, with all rows of the child tables that belong to it, in the order of `table.children`."""

    table: Table
    row: Row
    children: tuple[list[Row], ...] = ()
    replaces: bool = False
    """Whether it replaces the existing row in a table that keeps the first one."""

    @property
    def key(self) -> RowKey:
        """The key columns' values."""
        return tuple(self.row[name] for name in self.table.key)

    def tables(self) -> Iterator[tuple[Table, Sequence[Row]]]:
        """Its table with its row, then each child table with its rows."""
        yield self.table, (self.row,)
        yield from zip(self.table.children, self.children, strict=True)


@dataclass(frozen=True, slots=True)
class Drop:
    """A row to delete, with its children."""

    table: Table
    key: RowKey
