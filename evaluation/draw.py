"""Random draws, seeded by the seed and the user's id, so that they never depend on order, threads or `--users`."""

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import accumulate

NEGATIVES = 9


class Negatives(StrEnum):
    """How the items beside the taken one are drawn."""

    UNIFORM = "uniform"
    POPULAR = "popular"


class Pool:
    """Items to draw negatives from.

    Args:
        met: how often each item of the catalogue was visited in training.
        kind: `uniform` draws every item of the catalogue with the same probability, `popular` in proportion to `met`.
    """

    def __init__(self, met: Mapping[str, int], kind: Negatives) -> None:
        weights = {item: 1 if kind is Negatives.UNIFORM else times for item, times in met.items()}
        # Sorted, so that draws do not depend on the file's order.
        self._items = sorted(item for item, weight in weights.items() if weight)
        self._known = frozenset(self._items)
        self._upto = list(accumulate(weights[item] for item in self._items))

    def draw(self, chance: random.Random, count: int, refused: Collection[str]) -> list[str] | None:
        """This many different items, none of them refused; None if there are too few."""
        refused = set(refused)
        if len(self._items) - len(refused & self._known) < count:
            return None
        drawn: dict[str, None] = {}
        while len(drawn) < count:
            [item] = chance.choices(self._items, cum_weights=self._upto)
            if item not in refused:
                drawn[item] = None
        return list(drawn)


def chance(seed: int, what: str, user_id: str) -> random.Random:
    """A random generator for one purpose and one user."""
    return random.Random(f"{seed}/{what}/{user_id}")


def shuffled(items: Iterable[str], seed: int, user_id: str) -> tuple[str, ...]:
    """The items in the order of presentation to a user, independent of their given order."""
    order = sorted(items)
    chance(seed, "presentation", user_id).shuffle(order)
    return tuple(order)


def sample(users: Collection[str], count: int | None, seed: int) -> Sequence[str]:
    """A sample of this many users, ordered by id; a smaller sample is part of every larger one with the same seed."""
    if count is None or count >= len(users):
        return sorted(users)
    return sorted(sorted(users, key=lambda user_id: (chance(seed, "sample", user_id).random(), user_id))[:count])
