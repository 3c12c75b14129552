"""The user's side of the graph (Algorithm 1 line 11): a choice goes into the user's memory, and on to the items."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from operators.applied import is_applied
from operators.propagate import GraphLimits, touches, with_taken
from schemas import ItemFacts, Memory, Position, Touch


@dataclass(frozen=True)
class Remembered:
    """A choice that a memory has taken in.

    Attributes:
        memory: to be written, once the touch is sent: it is a state, so that after a crash between the two it is only
            told again.
        touch: what items are to hear; None: nothing.
    """

    memory: Memory
    touch: Touch | None


def remember(
    memory: Memory | None,
    user_id: str,
    domain: str,
    item: ItemFacts,
    at: datetime,
    event_id: str,
    source: Position | None,
    limits: GraphLimits,
    shown: Iterable[ItemFacts] = (),
) -> Remembered | None:
    """The memory with one more item taken, and what the items hear of it; None where it has applied this record.

    An event that it knows by its id moves the fence alone, and no item hears of it.
    """
    if memory is not None and source is not None and is_applied(memory.applied, source):
        return None
    newer = with_taken(memory, user_id, domain, item, at, event_id, source, shown)
    is_news = memory is None or newer.version > memory.version
    return Remembered(newer, touches(newer, item.item_id, limits) if is_news else None)


def moment_of(occurred_at: datetime, source: Position | None, now: datetime | None) -> datetime:
    """When a choice counts as taken: a clock that runs ahead must not hold the newest place for years."""
    moments = (occurred_at, None if source is None else source.moment, now)
    return min(moment for moment in moments if moment is not None)
