"""Turns scores into an order."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.arms.arm import Ranked
from evaluation.case import Case


def by_score(case: Case, scores: Sequence[float] | NDArray[np.float64]) -> Ranked:
    """The candidates by score, highest first; ties keep the order of presentation, which is random."""
    order = sorted(range(len(case.candidates)), key=lambda place: -scores[place])
    return Ranked(tuple(case.candidates[place] for place in order))


def standard(scores: ArrayLike) -> NDArray[np.float64]:
    """Standard scores inside one list, so that scores of different scales can be added; zeros where all are equal."""
    given = np.asarray(scores, dtype=np.float64)
    spread = given.std()
    return (given - given.mean()) / spread if spread > 0 else np.zeros_like(given)
