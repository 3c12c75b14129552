"""Other takers of a user's items, and their shared tastes (paper 2.2).

Facts that fewer than `floor` other takers support stay hidden.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from operators.graph.items import TRUSTED_DAYS, GraphLimits
from schemas import MAX_COMPANIONS, MAX_CROWD, MAX_TASTES, ItemMemory, Taker

# An account with more choices counts only as much as this many, or bots would dominate.
FULL_CHOICES = 64


@dataclass(frozen=True, slots=True)
class Crowd:
    """An item's taker as other users see them, dated by day."""

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
    """What an item's takers, without the reader, have in common.

    `effective` is the weighted number of takers, and `companions` the weighted number of takers by other item. `crowd`
    has the takers of most weight.
    """

    item_id: str
    epoch: int
    takers: int
    effective: float
    crowd: tuple[Crowd, ...] = ()
    companions: Mapping[str, float] = field(default_factory=dict)
    tastes: tuple[Taste, ...] = ()


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The signals of a user's items with enough takers.

    `epoch` changes with any of the items.
    """

    epoch: int = 0
    signals: tuple[ItemSignal, ...] = ()


class ItemSummary:
    """An item's memory with counts that all readers share."""

    __slots__ = ("_companions", "_limits", "_tastes", "_weights", "item")

    def __init__(self, item: ItemMemory, limits: GraphLimits) -> None:
        self.item = item
        self._limits = limits
        self._weights = account_weights(item.takers)
        # A name below the floor with all takers is below it without one, too.
        weighed = ((taker.others, self._weights[taker.neighbour]) for taker in item.takers)
        self._companions = _supported(weighed, limits.floor)
        self._tastes = _supported(((taker.tastes, 1.0) for taker in item.takers), limits.floor)

    def signal_for(self, reader: str) -> ItemSignal | None:
        """Summarise the takers other than this reader; None below the floor."""
        item, floor = self.item, self._limits.floor
        own = next((taker for taker in item.takers if taker.neighbour == reader), None)
        others = item.takers if own is None else tuple(taker for taker in item.takers if taker is not own)
        if len(others) < floor:
            return None
        weights = self._weights
        own_weight = weights[own.neighbour] if own else 0.0
        companions = _without(self._companions, own.others if own else (), own_weight, floor, MAX_COMPANIONS)
        shared_tastes = _without(self._tastes, own.tastes if own else (), 1.0, floor, MAX_TASTES)
        weightiest = sorted(others, key=lambda taker: weights[taker.neighbour])[::-1]
        return ItemSignal(
            item_id=item.item_id,
            epoch=item.epoch,
            takers=len(others),
            effective=math.fsum(weights[taker.neighbour] for taker in others),
            crowd=tuple(
                Crowd(taker.neighbour, taker.degree, taker.at.replace(hour=0, minute=0, second=0, microsecond=0))
                for taker in weightiest[:MAX_CROWD]
            ),
            companions=dict(companions),
            tastes=tuple(
                Taste(name, round(count), tuple(t.neighbour for t in weightiest if name in t.tastes)[:MAX_CROWD])
                for name, count in shared_tastes
            ),
        )


def neighbourhood_of(items: Iterable[ItemSummary], reader: str) -> Neighbourhood:
    """Return the neighbourhood of one reader."""
    known = list(items)
    signals = tuple(signal for each in known if (signal := each.signal_for(reader)) is not None)
    return Neighbourhood(sum(each.item.epoch for each in known), signals)


def account_weights(takers: Sequence[Taker]) -> dict[str, float]:
    """Return each account's weight by pseudonym, 1.0 if all are equally active.

    Few active days and very many choices lower the weight. The sum is Kish's effective sample size.
    """
    raw = {
        taker.neighbour: max(1, min(taker.days, TRUSTED_DAYS))
        / TRUSTED_DAYS
        * min(1.0, FULL_CHOICES / max(1, taker.version))
        for taker in takers
    }
    total = math.fsum(raw.values())
    typical = math.fsum(weight * weight for weight in raw.values()) / total if total else 1.0
    return {name: weight / typical for name, weight in raw.items()}


def _supported(weighted: Iterable[tuple[Sequence[str], float]], floor: int) -> dict[str, tuple[int, float]]:
    heads: Counter[str] = Counter()
    weights: dict[str, float] = {}
    for names, weight in weighted:
        for name in dict.fromkeys(names):
            heads[name] += 1
            weights[name] = weights.get(name, 0.0) + weight
    return {name: (count, weights[name]) for name, count in heads.items() if count >= floor}


def _without(
    counts: Mapping[str, tuple[int, float]], own: Sequence[str], own_weight: float, floor: int, most: int
) -> list[tuple[str, float]]:
    rest = dict(counts)
    for name in set(own):
        if name in rest:
            count, weight = rest[name]
            rest[name] = count - 1, max(0.0, weight - own_weight)
    supported = [(name, weight) for name, (count, weight) in rest.items() if count >= floor]
    return sorted(supported, key=lambda pair: (-pair[1], pair[0]))[:most]
