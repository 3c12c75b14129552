"""item-kNN: items visited by users who share visits with this user. No attributes, no training but counting."""

import numpy as np
from numpy.typing import NDArray

from evaluation.arms.arm import Progress, Ranked
from evaluation.arms.histories import histories
from evaluation.arms.options import ArmOptions
from evaluation.arms.scores import by_score
from evaluation.case import Case, Split

SHRINKAGE = 5.0
"""Added to the denominator, so that two items visited by a single user do not count as similar."""


class ItemKnn:
    """The sum, over the user's items, of cosines of the items' users: `co / (sqrt(n_i * n_j) + SHRINKAGE)`."""

    name = "item-knn"

    def __init__(self, options: ArmOptions) -> None:
        del options  # it has no options

    async def train(self, split: Split, progress: Progress) -> None:
        """Counts visits."""
        self._histories = histories(split)
        self._by_item = self._histories.met.T.tocsr()
        self._sizes = np.sqrt(self._histories.met.sum(axis=0))

    def scores(self, case: Case) -> NDArray[np.float64]:
        """Each candidate's score."""
        columns = [self._histories.items[item] for item in case.candidates]
        own = self._histories.met[[self._histories.users[case.user_id]]].indices
        together = (self._by_item[columns] @ self._histories.met)[:, own].toarray()
        similar: NDArray[np.float64] = together / (np.outer(self._sizes[columns], self._sizes[own]) + SHRINKAGE)
        summed: NDArray[np.float64] = similar.sum(axis=1)
        return summed

    async def rank(self, case: Case) -> Ranked:
        """The candidates by the sum of their similarities to the user's items."""
        return by_score(case, self.scores(case))
