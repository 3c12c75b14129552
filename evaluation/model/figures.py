"""The figures of a run with a model: means over choices, with intervals over users, and paired differences of arms."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.measures import hit_at, ndcg_at

RESAMPLES = 2_000
LEVEL = 0.95
MODEL, SKILL = "model", "skill"
"""What ranked: the model, or the skill alone by the product's sum."""

Hits = Mapping[str, NDArray[np.float64]]
"""By user, whether what was taken came first, choice by choice."""


@dataclass(frozen=True)
class Figures:
    """What an arm reached.

    Attributes:
        users, choices: how many were measured.
        hit_at_1, ndcg_at_5, mrr: means over choices.
        ci95: of Hit@1, bootstrapped over users with all their choices.
        early, late: Hit@1 of the first and of the second half of each user's choices.
    """

    users: int
    choices: int
    hit_at_1: float
    ndcg_at_5: float
    mrr: float
    ci95: tuple[float, float]
    early: float
    late: float


@dataclass(frozen=True)
class Difference:
    """A difference in Hit@1 on the same choices, with its 95 % interval over users."""

    difference: float
    ci95: tuple[float, float]

    @property
    def is_significant(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.ci95[0] > 0 or self.ci95[1] < 0


class Places:
    """The places of a run, by arm, by what ranked, by user and choice.

    Args:
        runs: what `evaluation.model.run.run` gave, for all parts of one data set.

    Raises:
        ValueError: they are of different data sets.
    """

    def __init__(self, runs: Iterable[Mapping[str, Any]]) -> None:
        runs = list(runs)
        if len({run["data"] for run in runs}) != 1:
            raise ValueError("runs must be of one data set")
        self._places: dict[tuple[str, str], dict[str, dict[int, int]]] = {}
        for run in runs:
            for each in run["ranked"]:
                of_arm = self._places.setdefault((each["arm"], each["by"]), {})
                of_arm.setdefault(each["user_id"], {})[each["seen"]] = each["place"]

    def arms(self, by: str = MODEL) -> list[str]:
        """The arms that there are, sorted."""
        return sorted(arm for arm, ranked_by in self._places if ranked_by == by)

    def figures(self, arm: str, by: str = MODEL) -> Figures:
        """What an arm reached.

        Raises:
            KeyError: there is no such arm.
        """
        of_arm = self._places[arm, by]
        places = np.asarray([place for of_user in of_arm.values() for place in of_user.values()])
        middle = np.median([seen for of_user in of_arm.values() for seen in of_user])
        late = np.asarray([seen > middle for of_user in of_arm.values() for seen in of_user])
        hits = hit_at(1, places)
        per_user = [hit_at(1, np.asarray(list(of_user.values()))) for of_user in of_arm.values()]
        return Figures(
            users=len(of_arm),
            choices=places.size,
            hit_at_1=float(hits.mean()),
            ndcg_at_5=float(ndcg_at(5, places).mean()),
            mrr=float((1 / places).mean()),
            ci95=_interval([float(user.sum()) for user in per_user], [user.size for user in per_user]),
            early=float(hits[~late].mean()),
            late=float(hits[late].mean()),
        )

    def minus(self, one: str, other: str, by: str = MODEL, other_by: str | None = None) -> Difference:
        """One arm's Hit@1 minus another's, on the choices that both ranked.

        Raises:
            KeyError: there is no such arm.
        """
        ours, theirs = self._places[one, by], self._places[other, other_by or by]
        sums, counts = [], []
        for user_id, of_user in ours.items():
            common = [seen for seen in of_user if seen in theirs.get(user_id, {})]
            if common:
                sums.append(float(sum((of_user[seen] == 1) - (theirs[user_id][seen] == 1) for seen in common)))
                counts.append(len(common))
        return Difference(sum(sums) / sum(counts), _interval(sums, counts))


def _interval(sums: Sequence[float], counts: Sequence[int], seed: int = 0) -> tuple[float, float]:
    """Of the mean over choices, with users drawn again."""
    users = len(counts)
    drawn = np.random.default_rng(seed).multinomial(users, np.full(users, 1 / users), size=RESAMPLES)
    means = (drawn @ np.asarray(sums)) / (drawn @ np.asarray(counts))
    low, high = np.quantile(means, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return float(low), float(high)
