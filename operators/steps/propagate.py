"""Steps of the agent `propagate`: items hear who took them, or that somebody is to be forgotten."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from operators.propagate import on_touch, takers_of, without_taker
from schemas import ItemMemory, Touch


class Outcome(StrEnum):
    """What became of a touch; a metric's label."""

    GATHERED = "gathered"
    REPEATED = "repeated"


@dataclass(frozen=True)
class Effects:
    """What a touch leads to.

    Attributes:
        outcome: what became of it.
        items: those that it changed; to be written before it is acknowledged.
    """

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
