"""Steps on the user-item graph (Algorithm 1 line 11): choices go into the user's memory and into their items."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from operators.applied import is_applied
from operators.propagate import GraphLimits, on_touch, takers_of, touches, with_taken, without_taker
from schemas import Contrast, Interaction, ItemFacts, ItemMemory, Memory, Position, Touch


@dataclass(frozen=True)
class Remembered:
    """A memory with one more choice, and the touch for its items.

    The memory is written once the touch is sent: after a crash between the two, the touch is only sent again.
    """

    memory: Memory
    touch: Touch | None


def remember(
    memory: Memory | None,
    event: Interaction | Contrast,
    item: ItemFacts,
    source: Position | None,
    now: datetime | None,
    limits: GraphLimits,
    shown: Iterable[ItemFacts] = (),
) -> Remembered | None:
    """Add a taken item to a memory; None if it has applied this record.

    An event with a known id moves the fence alone, without a touch.
    """
    if memory is not None and source is not None and is_applied(memory.applied, source):
        return None
    # A clock that runs ahead must not hold the newest place for years.
    moments = (event.occurred_at, None if source is None else source.moment, now)
    at = min(moment for moment in moments if moment is not None)
    newer = with_taken(memory, event.user_id, event.domain, item, at, event.event_id, source, shown)
    is_news = memory is None or newer.version > memory.version
    return Remembered(newer, touches(newer, item.item_id, limits) if is_news else None)


def step(
    held: Callable[[str, str], ItemMemory | None], touch: Touch, now: datetime | None = None
) -> tuple[ItemMemory, ...]:
    """Add a taker to items; returns those that change."""
    told = (on_touch(held(item_id, touch.domain), touch.domain, item_id, t, now) for item_id, t in takers_of(touch))
    return tuple(item for item in told if item is not None)


def forget(item: ItemMemory, touch: Touch) -> ItemMemory | None:
    """Return the item without the taker of a forgotten touch; None if nothing changes."""
    if not (touch.every_domain or item.domain == touch.domain):
        return None
    return without_taker(item, touch.taker)
