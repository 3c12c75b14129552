"""Baselines: chance, popularity, item-kNN, and a profile of facts."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from evaluation.simulation import Progress
from evaluation.split import Case, Split

# Added to the denominator, so that two items visited by a single user do not count as similar.
SHRINKAGE = 5.0
Scores = NDArray[np.float64]


def by_score(case: Case, scores: Sequence[float] | Scores) -> tuple[str, ...]:
    """The candidates by score; ties keep the random order of presentation."""
    order = sorted(range(len(case.candidates)), key=lambda place: -scores[place])
    return tuple(case.candidates[place] for place in order)


def standard(scores: ArrayLike) -> Scores:
    """Standard scores inside one list; zeros if all are equal."""
    given = np.asarray(scores, dtype=np.float64)
    spread = given.std()
    return (given - given.mean()) / spread if spread > 0 else np.zeros_like(given)


class Random:
    """Random order by the case's seed, which every arm must beat."""

    name = "random"

    async def train(self, split: Split, progress: Progress) -> None:
        """Learn nothing."""

    async def rank(self, case: Case) -> tuple[str, ...]:
        """The candidates in a drawn order."""
        order = list(case.candidates)
        random.Random(f"{case.seed}/random").shuffle(order)
        return tuple(order)


class Scoring:
    """An arm that scores each candidate."""

    def scores(self, case: Case) -> Scores:
        """Each candidate's score."""
        raise NotImplementedError

    async def rank(self, case: Case) -> tuple[str, ...]:
        """The candidates by score."""
        return by_score(case, self.scores(case))


class Popularity(Scoring):
    """Ranks by the number of users who visited the item in training."""

    name = "popularity"

    async def train(self, split: Split, progress: Progress) -> None:
        """Count users."""
        self._users: Counter[str] = Counter()
        for visits in split.training.values():
            self._users.update({visit.item_id for visit in visits})

    def scores(self, case: Case) -> Scores:
        """The number of each candidate's users."""
        return np.asarray([self._users[item] for item in case.candidates], dtype=np.float64)


class ItemKnn(Scoring):
    """Sums cosines of items: `co / (sqrt(n_i * n_j) + SHRINKAGE)`."""

    name = "item-knn"

    async def train(self, split: Split, progress: Progress) -> None:
        """Count visits."""
        self._users, self._items, self._met = histories(split)
        self._by_item = self._met.T.tocsr()
        self._sizes = np.sqrt(self._met.sum(axis=0))

    def scores(self, case: Case) -> Scores:
        """The sum of each candidate's similarities to the user's items."""
        columns = [self._items[item] for item in case.candidates]
        own = self._met[[self._users[case.user_id]]].indices
        together = (self._by_item[columns] @ self._met)[:, own].toarray()
        similar: Scores = together / (np.outer(self._sizes[columns], self._sizes[own]) + SHRINKAGE)
        summed: Scores = similar.sum(axis=1)
        return summed


class Profile(Scoring):
    """Sums, over dimensions, the cosines with the user's mean TF-IDF vector."""

    name = "profile"

    async def train(self, split: Split, progress: Progress) -> None:
        """Read the facts and compute each user's mean."""
        self._users, self._items, met = histories(split)
        dimensions = sorted({fact.dimension for facts in split.facts.values() for fact in facts.facts})
        blocks = [_tf_idf(split, self._items, dimension) for dimension in dimensions]
        # With every dimension's block of length 1, the sum of the cosines is one product.
        self._of_item = sparse.hstack([_unit(block) for block in blocks], format="csr")
        self._of_user = sparse.hstack([_unit(met @ block) for block in blocks], format="csr")

    def scores(self, case: Case) -> Scores:
        """Each candidate's similarity to the profile."""
        liked = self._of_user[[self._users[case.user_id]]].toarray()[0]
        found: Scores = self._of_item[[self._items[item] for item in case.candidates]] @ liked
        return found


class KnnAndProfile(Scoring):
    """The sum of standard scores of item-kNN and the profile."""

    name = "item-knn+profile"

    async def train(self, split: Split, progress: Progress) -> None:
        """Train both."""
        self._both = ItemKnn(), Profile()
        for each in self._both:
            await each.train(split, progress)

    def scores(self, case: Case) -> Scores:
        """The sums."""
        return standard(self._both[0].scores(case)) + standard(self._both[1].scores(case))


def histories(split: Split) -> tuple[dict[str, int], dict[str, int], Any]:
    """Rows by user, columns by item, and a sparse visit matrix."""
    users = {user_id: row for row, user_id in enumerate(split.training)}
    items = {item_id: column for column, item_id in enumerate(split.items)}
    pairs = {(users[u], items[visit.item_id]) for u, visits in split.training.items() for visit in visits}
    rows, columns = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T
    return users, items, sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(users), len(items)))


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
