"""Steps on the user-item graph (Algorithm 1 line 11): a choice goes into the user's memory, and items hear of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from operators.applied import is_applied
from operators.propagate import GraphLimits, on_touch, takers_of, touches, with_taken, without_taker
from schemas import ItemFacts, ItemMemory, Memory, Position, Touch


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


class Outcome(StrEnum):
    """What became of a touch; a metric's label."""

    GATHERED = "gathered"
    REPEATED = "repeated"


@dataclass(frozen=True)
class Effects:
    """What a touch leads to."""

    outcome: Outcome
    items: tuple[ItemMemory, ...] = ()


def step(held: Callable[[str, str], ItemMemory | None], touch: Touch, now: datetime | None = None) -> Effects:
    """Items hear who took them."""
    told = (on_touch(held(item_id, touch.domain), touch.domain, item_id, t, now) for item_id, t in takers_of(touch))
    changed = tuple(item for item in told if item is not None)
    return Effects(Outcome.GATHERED if changed else Outcome.REPEATED, changed)


def forget(item: ItemMemory, touch: Touch) -> ItemMemory | None:
    """The item without the taker of a forgotten touch; None where it knows nothing of them, or is not meant."""
    if not (touch.every_domain or item.domain == touch.domain):
        return None
    return without_taker(item, touch.taker)
