"""Steps of the agent `propagate`: an item hears who took it, and tells its takers what they have in common."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from operators.propagate import GraphLimits, on_touch, without_taker
from schemas import ItemMemory, ItemSignal, Touch


class Outcome(StrEnum):
    """What became of a touch; a metric's label."""

    TOLD = "told"
    GATHERED = "gathered"
    REPEATED = "repeated"


@dataclass(frozen=True)
class Effects:
    """What a touch leads to.

    Attributes:
        outcome: what became of it.
        item: to be written, once the signals are sent: a touch that is known already tells nothing, and after a crash
            it must tell again. None: nothing is.
        signals: what takers are to hear.
    """

    outcome: Outcome
    item: ItemMemory | None = None
    signals: tuple[ItemSignal, ...] = ()


def step(item: ItemMemory | None, touch: Touch, limits: GraphLimits, now: datetime | None = None) -> Effects:
    """An item hears who took it.

    Args:
        item: what it knows of its takers; None: nothing.
        touch: the event.
        limits: of the graph.
        now: the time; a touch from after it counts as one of now.
    """
    told = on_touch(item, touch, limits, now)
    if told is None:
        return Effects(Outcome.REPEATED)
    return Effects(Outcome.TOLD if told.signals else Outcome.GATHERED, told.item, told.signals)


def forget(item: ItemMemory, touch: Touch) -> ItemMemory | None:
    """The item without the taker of a forgotten touch; None where it knows nothing of them, or is not meant."""
    if not (touch.every_domain or item.domain == touch.domain):
        return None
    return without_taker(item, touch.taker.user_id)
