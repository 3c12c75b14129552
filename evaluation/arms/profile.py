"""A profile of the facts of a user's items, and candidates' similarity to it: what attributes alone achieve."""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evaluation.arms.arm import Progress, Ranked
from evaluation.arms.histories import histories
from evaluation.arms.neighbours import ItemKnn
from evaluation.arms.options import ArmOptions
from evaluation.arms.scores import by_score, standard
from evaluation.case import Case, Split

MAIN_KINDS = ("genre", "category")


class Profile:
    """Per dimension the mean TF-IDF vector of the user's items; the sum over dimensions of its cosines."""

    name = "profile"

    def __init__(self, options: ArmOptions) -> None:
        del options  # it has no options

    async def train(self, split: Split, progress: Progress) -> None:
        """Reads the facts and computes each user's mean."""
        known = histories(split)
        self._users, self._items = known.users, known.items
        blocks = [_tf_idf(split, known.items, dimension) for dimension in self.dimensions(split)]
        # With every dimension's block of length 1, the sum of the cosines is one product.
        self._of_item = sparse.hstack([_unit(block) for block in blocks], format="csr")
        self._of_user = sparse.hstack([_unit(known.met @ block) for block in blocks], format="csr")

    def dimensions(self, split: Split) -> list[str]:
        """The kinds of fact that count: all."""
        return sorted({fact.dimension for facts in split.facts.values() for fact in facts.facts})

    def scores(self, case: Case) -> NDArray[np.float64]:
        """Each candidate's score."""
        liked = self._of_user[[self._users[case.user_id]]].toarray()[0]
        found: NDArray[np.float64] = self._of_item[[self._items[item] for item in case.candidates]] @ liked
        return found

    async def rank(self, case: Case) -> Ranked:
        """The candidates by similarity to the profile."""
        return by_score(case, self.scores(case))


class MainKind(Profile):
    """The same with one kind of fact: genres, or categories if the data has no genres."""

    name = "profile-genre"

    def dimensions(self, split: Split) -> list[str]:
        """The first of `MAIN_KINDS` that the data has; otherwise all of its kinds."""
        found = super().dimensions(split)
        return [kind for kind in MAIN_KINDS if kind in found][:1] or found


class KnnAndProfile:
    """item-kNN and the profile, as standard scores inside each list, added: memory and taste, without training."""

    name = "item-knn+profile"

    def __init__(self, options: ArmOptions) -> None:
        self._knn, self._profile = ItemKnn(options), Profile(options)

    async def train(self, split: Split, progress: Progress) -> None:
        """Train both."""
        await self._knn.train(split, progress)
        await self._profile.train(split, progress)

    async def rank(self, case: Case) -> Ranked:
        """The candidates by the sum."""
        return by_score(case, standard(self._knn.scores(case)) + standard(self._profile.scores(case)))


def _tf_idf(split: Split, rows: dict[str, int], dimension: str) -> Any:
    """Sparse (items, values): the rarity of each value that an item has."""
    has = {
        (rows[item_id], fact.value)
        for item_id, facts in split.facts.items()
        for fact in facts.facts
        if fact.dimension == dimension
    }
    spread = Counter(value for _, value in has)
    columns = {value: column for column, value in enumerate(sorted(spread))}
    entries = sorted((row, columns[value], np.log(len(rows) / spread[value])) for row, value in has)
    at, column, weight = zip(*entries, strict=True)
    return sparse.csr_array((weight, (at, column)), shape=(len(rows), len(columns)))


def _unit(matrix: Any) -> Any:
    """The rows scaled to length 1; empty rows stay empty."""
    lengths = np.sqrt(matrix.multiply(matrix).sum(axis=1))
    return sparse.diags_array(1 / np.where(lengths > 0, lengths, 1.0)) @ matrix
