"""What a user's items have to say about their other takers, reckoned when a ranking asks (paper 2.2).

An item's takers are kept once, for all readers. For each reader, who is left out of it, the item tells what the other
takers have in common: nothing that fewer than `floor` of them support.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from operators.propagate import GraphLimits
from schemas import MAX_COMPANIONS, MAX_CROWD, MAX_TASTES, ItemMemory, Taker


@dataclass(frozen=True, slots=True)
class Crowd:
    """One of an item's takers as another user sees them: a pseudonym and two figures, none of their words.

    Attributes:
        neighbour: the pseudonym.
        degree: how many items they have in memory.
        at: the day on which they last took the item: the exact moment of a choice would tell who it was.
    """

    neighbour: str
    degree: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Taste:
    """An attribute that several takers of an item share, with their pseudonyms."""

    attribute_id: str
    supporters: int
    neighbours: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ItemSignal:
    """What an item's takers have in common, for one of them or somebody else.

    Attributes:
        item_id: the item.
        epoch: of the item's memory.
        takers: how many others took it.
        crowd: the newest of them, the newest first.
        companions: other items, with how many of the takers took them.
        tastes: what they take most.
    """

    item_id: str
    epoch: int
    takers: int
    crowd: tuple[Crowd, ...] = ()
    companions: Mapping[str, int] = field(default_factory=dict)
    tastes: tuple[Taste, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """What all items in a user's memory tell them.

    Attributes:
        epoch: changes with any of the items; together with the memory's version it identifies a graph.
        signals: of each item that has something to tell, in the memory's order.
    """

    epoch: int = 0
    signals: tuple[ItemSignal, ...] = ()


class Gathered:
    """An item's memory with what is counted once for all who ask.

    Args:
        item: what it knows of its takers.
        limits: how many must stand behind what is told.
    """

    __slots__ = ("_companions", "_limits", "_tastes", "item")

    def __init__(self, item: ItemMemory, limits: GraphLimits) -> None:
        self.item = item
        self._limits = limits
        # Each name counts once of a taker, and what lies under the floor with all of them lies under it without one.
        self._companions = _supported((taker.others for taker in item.takers), limits.floor)
        self._tastes = _supported((taker.tastes for taker in item.takers), limits.floor)

    def tell(self, reader: str) -> ItemSignal | None:
        """What the takers other than this neighbour have in common; None where too few others took it."""
        item, floor = self.item, self._limits.floor
        own = next((taker for taker in item.takers if taker.neighbour == reader), None)
        others = item.takers if own is None else tuple(taker for taker in item.takers if taker is not own)
        if len(others) < floor:
            return None
        companions = _without(self._companions, own.others if own else (), floor, MAX_COMPANIONS)
        liked = _without(self._tastes, own.tastes if own else (), floor, MAX_TASTES)
        newest_first = others[::-1]
        return ItemSignal(
            item_id=item.item_id,
            epoch=item.epoch,
            takers=len(others),
            crowd=tuple(_seen(taker) for taker in newest_first[:MAX_CROWD]),
            companions=dict(companions),
            tastes=tuple(
                Taste(name, count, tuple(t.neighbour for t in newest_first if name in t.tastes)[:MAX_CROWD])
                for name, count in liked
            ),
        )


def near(items: Iterable[Gathered], reader: str) -> Neighbourhood:
    """What these items tell this neighbour."""
    known = list(items)
    told = (each.tell(reader) for each in known)
    return Neighbourhood(sum(each.item.epoch for each in known), tuple(signal for signal in told if signal is not None))


def _seen(taker: Taker) -> Crowd:
    day = taker.at.replace(hour=0, minute=0, second=0, microsecond=0)
    return Crowd(taker.neighbour, taker.degree, day)


def _supported(names: Iterable[Sequence[str]], floor: int) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for each in names:
        counts.update(set(each))
    return {name: count for name, count in counts.items() if count >= floor}


def _without(counts: Mapping[str, int], own: Sequence[str], floor: int, most: int) -> list[tuple[str, int]]:
    """The names that others support, those that most do first."""
    rest = dict(counts)
    for name in set(own):
        if name in rest:
            rest[name] -= 1
    supported = [(name, count) for name, count in rest.items() if count >= floor]
    return sorted(supported, key=lambda pair: (-pair[1], pair[0]))[:most]
