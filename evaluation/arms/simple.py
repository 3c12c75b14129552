"""The two arms that know nothing of the user: chance and popularity."""

import random
from collections import Counter

from evaluation.arms.arm import Progress, Ranked
from evaluation.arms.options import ArmOptions
from evaluation.arms.scores import by_score
from evaluation.case import Case, Split


class Random:
    """Chance: what anything has to beat."""

    name = "random"

    def __init__(self, options: ArmOptions) -> None:
        del options  # a case brings its own seed

    async def train(self, split: Split, progress: Progress) -> None:
        """There is nothing to learn."""

    async def rank(self, case: Case) -> Ranked:
        """The candidates in an order that the case's seed decides."""
        order = list(case.candidates)
        random.Random(f"{case.seed}/random").shuffle(order)
        return Ranked(tuple(order))


class Popularity:
    """By how many users have the item in their training."""

    name = "popularity"

    def __init__(self, options: ArmOptions) -> None:
        del options  # there is nothing to set
        self._users: Counter[str] = Counter()

    async def train(self, split: Split, progress: Progress) -> None:
        """Count."""
        for visits in split.training.values():
            self._users.update({visit.item_id for visit in visits})

    async def rank(self, case: Case) -> Ranked:
        """The candidates by how many users met them."""
        return by_score(case, [self._users[item] for item in case.candidates])
