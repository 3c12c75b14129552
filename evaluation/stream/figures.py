"""The figures of plays: hits by choices seen, and paired differences of arms with intervals over users.

Choices count alike, whoever made them. An interval resamples users, with all their choices, so that what one user does
again and again is not taken for evidence from many.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.measures import hit_at, ndcg_at
from evaluation.online.curve import FROM, label
from evaluation.stream.play import By, Played

RESAMPLES = 2_000
LEVEL = 0.95
LATE, EARLY = "17+", "1"
"""The buckets whose leads are compared for growth."""
BUCKETS = tuple(label(start) for start in FROM)


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of two means.

    Attributes:
        difference: the difference.
        ci95: its 95 % percentile interval, bootstrapped over users; None where fewer than two users are compared.
    """

    difference: float
    ci95: tuple[float, float] | None

    @property
    def is_significant(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.ci95 is not None and (self.ci95[0] > 0 or self.ci95[1] < 0)


@dataclass(frozen=True, slots=True)
class Bucket:
    """Choices after about as many others: how many there are, and how often the taken item came first."""

    choices: int
    hit_at_1: float


@dataclass(frozen=True)
class Figures:
    """An arm's figures.

    Attributes:
        users, choices: how many were measured.
        hit_at_1, ndcg_at_5, mrr: means over choices.
        by_seen: the hits by how many choices were seen before; only buckets with choices.
    """

    users: int
    choices: int
    hit_at_1: float
    ndcg_at_5: float
    mrr: float
    by_seen: Mapping[str, Bucket]


def bucket_of(seen: int) -> str:
    """The bucket of a choice.

    >>> [bucket_of(seen) for seen in (0, 1, 2, 4, 8, 9, 40)]
    ['0', '1', '2', '3-4', '5-8', '9-16', '17+']
    """
    return BUCKETS[bisect_right(FROM, seen) - 1]


def figures(played: Played, by: By) -> Figures:
    """What an arm reached.

    Raises:
        ValueError: nothing was measured.
    """
    places = np.asarray([place for of_user in played.places[by].values() for place in of_user])
    if not places.size:
        raise ValueError("a play in which no choice was measured has no figures")
    hits, buckets = hit_at(1, places), _buckets(played)
    return Figures(
        users=sum(bool(of_user) for of_user in played.places[by].values()),
        choices=places.size,
        hit_at_1=float(hits.mean()),
        ndcg_at_5=float(ndcg_at(5, places).mean()),
        mrr=float((1 / places).mean()),
        by_seen={
            name: Bucket(int(held.sum()), float(hits[held].mean()))
            for name in BUCKETS
            if (held := buckets == name).any()
        },
    )


def minus(one: Played, other: Played, by: By, seed: int = 0) -> Difference:
    """One arm's Hit@1 minus another's on the same choices.

    Raises:
        ValueError: they were not measured on the same choices.
    """
    sums, counts = _leads(one, other, by)
    drawn = _resampled(len(counts), seed)
    return _difference(sums.sum() / counts.sum(), drawn @ sums / (drawn @ counts), len(counts))


def growth(one: Played, other: Played, by: By, seed: int = 0) -> Difference | None:
    """How much more one arm leads another after 17 choices and more than after one; None where either has none.

    Raises:
        ValueError: they were not measured on the same choices.
    """
    late, of_late = _leads(one, other, by, LATE)
    early, of_early = _leads(one, other, by, EARLY)
    if not of_late.sum() or not of_early.sum():
        return None
    drawn = _resampled(len(late), seed)
    with np.errstate(invalid="ignore"):  # a resample may draw nobody with 17 choices
        leads = drawn @ late / (drawn @ of_late) - drawn @ early / (drawn @ of_early)
    difference = late.sum() / of_late.sum() - early.sum() / of_early.sum()
    return _difference(difference, leads[~np.isnan(leads)], int((of_late > 0).sum()))


def _buckets(played: Played) -> NDArray[np.str_]:
    return np.asarray([bucket_of(seen) for of_user in played.seen.values() for seen in of_user])


def _leads(one: Played, other: Played, by: By, bucket: str | None = None) -> tuple[NDArray[np.float64], ...]:
    """By user with measured choices, the sum of the differences of hits, and how many there are; in a bucket or all."""
    if one.seen != other.seen:
        raise ValueError(f"{one.arm} and {other.arm} were measured on different choices")
    sums, counts = [], []
    for user_id, seen in one.seen.items():
        if not seen:
            continue
        held = [place for place, before in enumerate(seen) if bucket is None or bucket_of(before) == bucket]
        ours, theirs = one.places[by][user_id], other.places[by][user_id]
        sums.append(sum((ours[place] == 1) - (theirs[place] == 1) for place in held))
        counts.append(len(held))
    return np.asarray(sums, dtype=np.float64), np.asarray(counts, dtype=np.float64)


def _resampled(users: int, seed: int) -> NDArray[np.float64]:
    """How often each user is in each resample; resamples x users."""
    drawn = np.random.default_rng(seed).multinomial(users, np.full(users, 1 / users), size=RESAMPLES)
    return drawn.astype(np.float64)


def _difference(difference: float, resampled: NDArray[np.float64], users: int) -> Difference:
    if users < 2:
        return Difference(float(difference), None)
    low, high = np.quantile(resampled, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Difference(float(difference), (float(low), float(high)))


def chart(by_seen: Mapping[str, Sequence[float | None]], width: int) -> list[tuple[str, list[str]]]:
    """Bars for the hits of several arms by choices seen, on one scale from 0 to the largest.

    Args:
        by_seen: bucket to each arm's hits; None where it has none.
        width: of the longest bar, in characters.

    >>> chart({"0": [0.2, 0.4]}, 8)
    [('0', ['████', '████████'])]
    """
    most = max((value for values in by_seen.values() for value in values if value is not None), default=0.0) or 1.0
    return [(name, [_bar((value or 0.0) / most * width) for value in values]) for name, values in by_seen.items()]


def _bar(length: float) -> str:
    whole = math.floor(length)
    part = "" if length - whole < 0.125 else " ▏▎▍▌▋▊▉"[round((length - whole) * 8) % 8]
    return "█" * whole + part.strip()
