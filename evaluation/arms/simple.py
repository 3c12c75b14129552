"""The two arms that ignore the user: random order and popularity."""

import random
from collections import Counter

from evaluation.arms.arm import Progress, Ranked
from evaluation.arms.options import ArmOptions
from evaluation.arms.scores import by_score
from evaluation.case import Case, Split


class Random:
    """Random order: the baseline that every arm must beat."""

    name = "random"

    def __init__(self, options: ArmOptions) -> None:
        del options  # a case brings its own seed

    async def train(self, split: Split, progress: Progress) -> None:
        """Learns nothing."""

    async def rank(self, case: Case) -> Ranked:
        """The candidates in an order drawn by the case's seed."""
        order = list(case.candidates)
        random.Random(f"{case.seed}/random").shuffle(order)
        return Ranked(tuple(order))


class Popularity:
    """Ranks by the number of users who visited the item in training."""

    name = "popularity"

    def __init__(self, options: ArmOptions) -> None:
        del options  # it has no options
        self._users: Counter[str] = Counter()

    async def train(self, split: Split, progress: Progress) -> None:
        """Count."""
        for visits in split.training.values():
            self._users.update({visit.item_id for visit in visits})

    async def rank(self, case: Case) -> Ranked:
        """The candidates by the number of their users."""
        return by_score(case, [self._users[item] for item in case.candidates])
