"""Intervals and tests from counts: a measure depends only on the rank, of which there are few values.

Resampling users and counting their ranks equals drawing the counts from a multinomial, so that 10,000 resamples of any
number of users take milliseconds. `confidence` does the same for any values.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from evaluation.confidence import LEVEL, RESAMPLES
from evaluation.measures import hit_at, ndcg_at


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference in Hit@1 of two runs, on their common users.

    Attributes:
        users: the number of users.
        value: the difference of the means.
        low, high: 95 % bootstrap interval over users.
        relative: the difference relative to the other's Hit@1 on these users; None if that is 0.
        p: two-sided p-value of McNemar's exact test, which equals sign flips of single hits.
    """

    users: int
    value: float
    low: float
    high: float
    relative: float | None
    p: float


def interval(places: Collection[int], measure: str) -> tuple[float, float]:
    """The 95 % bootstrap interval of a measure's mean, such as `ndcg_at_5`, over users.

    Raises:
        ValueError: there are no ranks.
    """
    if not places:
        raise ValueError("an interval needs ranks")
    kind, _, k = measure.partition("_at_")
    counts = np.bincount(np.fromiter(places, dtype=np.int64, count=len(places)))[1:]
    each = np.arange(1, len(counts) + 1)
    return _bootstrap(counts, hit_at(int(k), each) if kind == "hit" else ndcg_at(int(k), each))


def difference(one: Mapping[str, int], other: Mapping[str, int]) -> Difference | None:
    """Compares two runs by their users' ranks; None if they have fewer than two users in common."""
    common = one.keys() & other.keys()
    if len(common) < 2:
        return None
    better = sum(one[user] == 1 != other[user] for user in common)
    worse = sum(other[user] == 1 != one[user] for user in common)
    before = sum(other[user] == 1 for user in common)
    counts = np.array([better, worse, len(common) - better - worse])
    low, high = _bootstrap(counts, np.array([1.0, -1.0, 0.0]))
    return Difference(
        users=len(common),
        value=(better - worse) / len(common),
        low=low,
        high=high,
        relative=(better - worse) / before if before else None,
        p=float(stats.binomtest(better, better + worse).pvalue) if better + worse else 1.0,
    )


def _bootstrap(counts: NDArray[np.int64], values: NDArray[np.float64]) -> tuple[float, float]:
    kinds, of_kind = np.unique(values, return_inverse=True)  # hits have only two values
    shares = np.bincount(of_kind, weights=counts) / counts.sum()
    users = int(counts.sum())
    drawn = np.random.default_rng(0).multinomial(users, shares, size=RESAMPLES) @ kinds / users
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
