"""The fence against repeats: every value knows which records it has applied (invariant 2)."""

from collections.abc import Sequence
from datetime import datetime
from math import ceil

from schemas import Position

DAY_MS = 24 * 3_600_000


def is_applied(applied: Sequence[Position], position: Position) -> bool:
    """Return True if this record, or a later one of its partition, has been applied already.

    The timestamp counts too: the offsets of a recreated topic start again at 0.

    >>> held = [Position(topic="t", partition=0, offset=7, timestamp_ms=50)]
    >>> is_applied(held, Position(topic="t", partition=0, offset=7, timestamp_ms=50))
    True
    >>> is_applied(held, Position(topic="t", partition=0, offset=3, timestamp_ms=90))
    False
    """
    return any(
        held.topic == position.topic
        and held.partition == position.partition
        and position.offset <= held.offset
        and position.timestamp_ms <= held.timestamp_ms
        for held in applied
    )


def with_applied(
    applied: Sequence[Position], position: Position | None, claimed: datetime | None = None
) -> tuple[Position, ...]:
    """Return the fence after a record: the newest position per topic, in the order of the topics' names.

    Producers' clocks can go back, but the fence's timestamp must not, or an older record would pass for one of a new
    topic. A step back of more than a day means that the earlier clock was wrong. An event time (`claimed`) that is
    ahead raises the timestamp, so that a request to forget knows the newest time that was learned from.

    >>> first = with_applied((), Position(topic="t", partition=0, offset=7, timestamp_ms=90))
    >>> with_applied(first, Position(topic="t", partition=0, offset=8, timestamp_ms=50))[0].timestamp_ms
    90
    """
    if position is None:
        return tuple(applied)
    before = next((held for held in applied if held.topic == position.topic), position)
    ahead_ms = 0
    # The cheap comparison decides nearly always.
    if claimed is not None and claimed.timestamp() * 1_000 > position.timestamp_ms - 1:
        ahead_ms = ceil((claimed - position.moment).total_seconds() * 1_000)
    if 0 < ahead_ms <= DAY_MS:
        position = position.model_copy(update={"timestamp_ms": position.timestamp_ms + ahead_ms})
    if before.partition == position.partition and before.offset < position.offset:
        back_ms = before.timestamp_ms - position.timestamp_ms
        if 0 < back_ms <= DAY_MS:
            position = position.model_copy(update={"timestamp_ms": before.timestamp_ms})
    kept = [held for held in applied if held.topic != position.topic]
    return tuple(sorted([*kept, position], key=lambda held: held.topic))


def remember(ids: Sequence[str], new: str, most: int) -> tuple[str, ...]:
    """Add an id to a ring; the oldest drops out.

    >>> remember(("a", "b"), "c", most=2)
    ('b', 'c')
    """
    return (*ids, new)[-most:]
