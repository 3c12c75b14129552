"""Hit rates, NDCG, their intervals, and paired differences of arms."""

from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

MEASURES = ("hit_at_1", "hit_at_3", "hit_at_5", "ndcg_at_3", "ndcg_at_5")
LEVEL = 0.95
RESAMPLES_OF_USERS, RESAMPLES_OF_CHOICES = 10_000, 2_000
# The first number of choices seen of each bucket; the last one is open-ended.
BUCKET_STARTS = (0, 1, 2, 3, 5, 9, 17)
BUCKETS = ("0", "1", "2", "3-4", "5-8", "9-16", "17+")
# The buckets whose leads are compared for growth.
EARLY, LATE = "1", "17+"

Interval = tuple[float, float]
# The rank of the taken item from 1, by user and by the number of choices that the user made before.
Places = Mapping[str, Mapping[int, int]]


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of two arms in Hit@1, on the same users.

    `ci95` is its percentile interval, bootstrapped over users; None for fewer than two.
    """

    users: int
    value: float
    ci95: Interval | None

    def __str__(self) -> str:
        bounds = "" if self.ci95 is None else " [{:+.3f}, {:+.3f}]".format(*self.ci95)
        return f"{self.value:+.3f}{bounds}"

    def as_json(self) -> dict[str, Any]:
        """The difference as `--json` prints it."""
        return {"difference": round(self.value, 4), "ci95": rounded(self.ci95)}


@dataclass(frozen=True)
class Summary:
    """The figures of an arm; means over choices.

    `early` and `late` are Hit@1 of the halves of the users' choices, `by_seen` by bucket of choices seen before.
    `ci95` is bootstrapped over users with all their choices; None for fewer than two users.
    """

    users: int
    choices: int
    hit_at_1: float
    ndcg_at_5: float
    mrr: float
    ci95: Interval | None
    early: float
    late: float
    by_seen: Mapping[str, float]
    choices_by_seen: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        """The figures over all choices as `--json` prints them."""
        return {
            "users": self.users,
            "choices": self.choices,
            "hit_at_1": round(self.hit_at_1, 4),
            "ci95_hit_at_1": rounded(self.ci95),
            "ndcg_at_5": round(self.ndcg_at_5, 4),
            "mrr": round(self.mrr, 4),
        }


def rounded(interval: Interval | None) -> list[float] | None:
    """An interval as `--json` prints it."""
    return None if interval is None else [round(bound, 4) for bound in interval]


def hit_at(k: int, places: ArrayLike) -> NDArray[np.float64]:
    """1 for each target of rank k or better, else 0."""
    return (np.asarray(places) <= k).astype(np.float64)


def ndcg_at(k: int, places: ArrayLike) -> NDArray[np.float64]:
    """1 / log2(place + 1) for each of the first k."""
    return hit_at(k, places) / np.log2(np.asarray(places, dtype=np.float64) + 1)


def averages(places: ArrayLike) -> dict[str, float]:
    """The mean of each of `MEASURES` over cases."""
    kinds = {"hit": hit_at, "ndcg": ndcg_at}
    return {
        name: float(kinds[kind](int(k), places).mean()) for name in MEASURES for kind, _, k in [name.partition("_at_")]
    }


def interval(values: ArrayLike, seed: int = 0) -> Interval:
    """The bootstrapped 95 % interval of a mean over users."""
    from scipy import stats  # noqa: PLC0415 - it takes half a second, and few need intervals

    found: Any = stats.bootstrap(
        (np.asarray(values, dtype=np.float64),),
        np.mean,
        n_resamples=RESAMPLES_OF_USERS,
        batch=500,  # bounds the memory: 7,000 users take some 30 MB
        confidence_level=LEVEL,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(found.low), float(found.high)


def paired(one: Mapping[str, float], other: Mapping[str, float], seed: int = 0) -> Difference | None:
    """The difference of means over common users; None without any."""
    common = [user_id for user_id in one if user_id in other]
    if not common:
        return None
    differences = np.asarray([one[user_id] - other[user_id] for user_id in common], dtype=np.float64)
    bounds = interval(differences, seed) if len(common) > 1 else None
    return Difference(len(common), float(differences.mean()), bounds)


def bucket_of(seen: int) -> str:
    """The bucket of a choice.

    >>> [bucket_of(seen) for seen in (0, 1, 2, 4, 8, 9, 40)]
    ['0', '1', '2', '3-4', '5-8', '9-16', '17+']
    """
    return BUCKETS[bisect_right(BUCKET_STARTS, seen) - 1]


def summary(places: Places, seed: int = 0) -> Summary:
    """The figures of an arm; ValueError if nothing was measured."""
    ranks = np.asarray([place for of_user in places.values() for place in of_user.values()])
    if not ranks.size:
        raise ValueError("an arm for which no choice was measured has no figures")
    seen = [before for of_user in places.values() for before in of_user]
    hits, buckets = hit_at(1, ranks), np.asarray([bucket_of(before) for before in seen])
    is_late = np.asarray(seen) > np.median(seen)
    counts = {name: int((buckets == name).sum()) for name in BUCKETS}
    measured = [of_user for of_user in places.values() if of_user]
    per_user = [float(sum(place == 1 for place in of_user.values())) for of_user in measured]
    return Summary(
        users=len(measured),
        choices=ranks.size,
        hit_at_1=float(hits.mean()),
        ndcg_at_5=float(ndcg_at(5, ranks).mean()),
        mrr=float((1 / ranks).mean()),
        ci95=ratio(per_user, [len(of_user) for of_user in measured], seed).ci95,
        early=float(hits[~is_late].mean()),
        late=float(hits[is_late].mean()) if is_late.any() else float("nan"),
        by_seen={name: float(hits[buckets == name].mean()) for name, count in counts.items() if count},
        choices_by_seen={name: count for name, count in counts.items() if count},
    )


def minus(one: Places, other: Places, seed: int = 0) -> Difference:
    """The difference in Hit@1 over the choices of both arms.

    Choices count alike. The interval resamples users with all their choices, so that a repeated choice of one user is
    no evidence from many.
    """
    return ratio(*_leads(one, other, BUCKETS), seed)


def growth_rate(one: Places, other: Places, seed: int = 0) -> Difference | None:
    """An arm's lead after 17 choices minus that after one."""
    late, of_late = (np.asarray(values) for values in _leads(one, other, {LATE}))
    early, of_early = (np.asarray(values) for values in _leads(one, other, {EARLY}))
    if not of_late.sum() or not of_early.sum():
        return None
    drawn = _resampled(len(late), seed)
    with np.errstate(invalid="ignore"):  # a resample may have no user with 17 choices
        leads = drawn @ late / (drawn @ of_late) - drawn @ early / (drawn @ of_early)
    value = late.sum() / of_late.sum() - early.sum() / of_early.sum()
    users = int((of_late > 0).sum())
    return Difference(users, float(value), _percentiles(leads[~np.isnan(leads)]) if users > 1 else None)


def _leads(one: Places, other: Places, buckets: Collection[str]) -> tuple[list[float], list[float]]:
    """Sums of hit differences and counts of common choices, by user."""
    sums, counts = [], []
    for user_id, ours in one.items():
        theirs = other.get(user_id, {})
        if not any(seen in theirs for seen in ours):
            continue
        common = [seen for seen in ours if seen in theirs and bucket_of(seen) in buckets]
        sums.append(float(sum((ours[seen] == 1) - (theirs[seen] == 1) for seen in common)))
        counts.append(float(len(common)))
    return sums, counts


def ratio(sums: ArrayLike, counts: ArrayLike, seed: int) -> Difference:
    """A mean over choices with its interval, from sums by user."""
    totals, numbers = np.asarray(sums, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    users, value = len(numbers), float(totals.sum() / numbers.sum())
    if users < 2:
        return Difference(users, value, None)
    drawn = _resampled(users, seed)
    return Difference(users, value, _percentiles((drawn @ totals) / (drawn @ numbers)))


def _resampled(users: int, seed: int) -> NDArray[np.float64]:
    """Counts of each user in each resample; resamples x users."""
    drawn = np.random.default_rng(seed).multinomial(users, np.full(users, 1 / users), size=RESAMPLES_OF_CHOICES)
    return drawn.astype(np.float64)


def _percentiles(resampled: NDArray[np.float64]) -> Interval:
    low, high = np.quantile(resampled, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return float(low), float(high)
