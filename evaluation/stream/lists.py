"""The lists that choices are made from: ten items, of which the user took exactly one."""

import math
import random
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from itertools import accumulate

from evaluation.draw import NEGATIVES
from evaluation.sequences import Sequences

EXPOSED_OF = 30
"""How many items a recommender picks ten from."""
POPULARITY, NOISE = 0.3, 0.3
"""What a recommender's popularity and noise count next to its companions, all in standard deviations of the list."""


class Lists(StrEnum):
    """How the items beside the taken one come about.

    `uniform` draws every work with the same chance, `popular` every item by how often it is taken, and `exposed` shows
    what a recommender would pick from items drawn by popularity.
    """

    UNIFORM = "uniform"
    POPULAR = "popular"
    EXPOSED = "exposed"


class Shelf:
    """Draws items that a user never takes, no two of the same work.

    Args:
        found: the data set.
        kind: how items are drawn.
    """

    def __init__(self, found: Sequences, kind: Lists) -> None:
        weights = dict.fromkeys(found.works, 1) if kind is Lists.UNIFORM else found.popularity
        # Sorted, so that draws do not depend on the file's order.
        self._items = sorted(weights)
        self._upto = list(accumulate(weights[item] for item in self._items))
        self._work = found.work
        self.beside = EXPOSED_OF - 1 if kind is Lists.EXPOSED else NEGATIVES
        self.most = len({found.work[item] for item in self._items}) - self.beside

    def draw(self, chance: random.Random, met: Collection[str]) -> list[str]:
        """As many items as belong beside a taken one.

        Args:
            chance: where the draws come from.
            met: the works not to draw, at most `most` of them.
        """
        refused, drawn = set(met), list[str]()
        while len(drawn) < self.beside:
            item = self._items[bisect_left(self._upto, chance.randrange(self._upto[-1]) + 1)]
            if self._work[item] not in refused:
                refused.add(self._work[item])
                drawn.append(item)
        return drawn


def expose(
    taken: str,
    others: Sequence[str],
    companions: Mapping[str, float],
    popularity: Mapping[str, int],
    chance: random.Random,
) -> tuple[list[str], bool]:
    """What a recommender would show of these items, and whether the taken one is among it by itself.

    The ten best by companions, popularity and noise. Where the taken item is not among them, it comes in the last
    one's place: it was taken, but nobody would have seen it in this list, so that such a choice is learned from as a
    visit without a list and measures nothing.

    Args:
        taken: the item taken.
        others: what else there was to show.
        companions: how strongly others took an item together with what this user took.
        popularity: how many others took an item.
        chance: where the noise comes from.
    """
    items = [taken, *others]
    near = _standard([companions.get(item, 0.0) for item in items])
    liked = _standard([math.log1p(popularity.get(item, 0)) for item in items])
    scores = {
        item: one + POPULARITY * other + NOISE * chance.gauss()
        for item, one, other in zip(items, near, liked, strict=True)
    }
    shown = sorted(items, key=lambda item: (-scores[item], item))[: NEGATIVES + 1]
    if taken in shown:
        return shown, True
    return [*shown[:-1], taken], False


def _standard(values: Sequence[float]) -> list[float]:
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    return [(value - mean) / spread if spread else 0.0 for value in values]
