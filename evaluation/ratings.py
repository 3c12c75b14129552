"""Does it help to know how somebody rated what they took? Ratings against visits alone, on the same users and lists.

A user's items come as they did in time. Before each, it is ranked among ten, by the skill as it is then; afterwards the
skill hears of it: that it was taken, how it was rated, or both. Nothing else differs between the arms.
"""

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from evaluation.arms.arm import Progress
from evaluation.confidence import compare
from evaluation.exceptions import QualityError
from evaluation.stream.lists import Lists
from evaluation.stream.plan import Choice, Plan, plans
from operators.evidence import fixed
from operators.privacy import OFF
from operators.rank.weights import DEFAULT_WEIGHTS
from operators.steps import Evolve, Start, State
from operators.steps import rank as ranking
from schemas import Feedback, PolicySkill, Signal, derived_id
from schemas.fields import Domain, UserId
from streams.importers import Visit
from streams.vouching import DEFAULT as VOUCHING

RATINGS = "interactions.jsonl.gz"
SEEN = 5
"""Of so many first items the skill hears before anything is measured."""


class Arm(StrEnum):
    """What a skill hears of an item that was taken: that it was, its rating, or both."""

    VISITS = "visits"
    RATED = "rated"
    BOTH = "both"


class Targets(StrEnum):
    """Which items are measured: all that were taken, or those that were rated in the upper half of the scale."""

    ALL = "all"
    LIKED = "liked"


class By(StrEnum):
    """What ranks: the skill alone, or with what the community says, by a new domain's weights."""

    SKILL = "skill"
    MIX = "mix"


@dataclass(frozen=True)
class Result:
    """What came of an arm.

    Attributes:
        arm, targets, by: what was measured.
        users, choices: how many.
        hit_at_1: the mean over users of the share of their choices in which the taken item was ranked first.
        difference: to visits alone; None for these.
        ci95: its bootstrap interval over users.
    """

    arm: Arm
    targets: Targets
    by: By
    users: int
    choices: int
    hit_at_1: float
    difference: float | None = None
    ci95: tuple[float, float] | None = None


@dataclass(frozen=True)
class Ratings:
    """The ratings of a data set.

    Attributes:
        of: by user and item.
        scale: the worst and the best that anybody gave.
    """

    of: Mapping[tuple[str, str], float]
    scale: tuple[float, float]

    @property
    def middle(self) -> float:
        """Half way between the worst and the best."""
        return sum(self.scale) / 2


def read(folder: Path) -> Ratings:
    """The ratings in a folder.

    Raises:
        QualityError: there are none.
    """
    found: dict[tuple[str, str], float] = {}
    try:
        with gzip.open(folder / RATINGS, "rt", encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                if isinstance(row.get("rating"), int | float):
                    found.setdefault((str(row["user_id"]), str(row["item_id"])), float(row["rating"]))
    except OSError as error:
        raise QualityError(f"{folder / RATINGS} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, AttributeError) as error:
        raise QualityError(f"{folder / RATINGS} has a line that is no interaction: {error}") from error
    if len(set(found.values())) < 2:
        raise QualityError(f"{folder / RATINGS} has no ratings that differ: `rating` must be a number")
    return Ratings(found, (min(found.values()), max(found.values())))


def play(
    folder: Path, lists: Lists, users: int, most: int, seed: int = 0, progress: Progress = lambda *_, **__: None
) -> list[Result]:
    """All arms on the same users and lists.

    Args:
        folder: a data set with ratings.
        lists: how lists come about.
        users: how many.
        most: of each user, how many choices at most.
        seed: of the sample and the draws.
        progress: receives what is done.

    Raises:
        QualityError: there are no ratings, or too few users.
    """
    ratings = read(folder)
    [plan] = plans(folder, [lists], [SEEN], users, most=most, seed=seed, progress=progress)
    played = {arm: _Play(plan, ratings, arm).run(progress) for arm in Arm}
    return [_result(played, arm, targets, by, seed) for targets in Targets for by in By for arm in Arm]


Hits = dict[str, list[bool]]


@dataclass
class _Play:
    plan: Plan
    ratings: Ratings
    arm: Arm
    evolve: Evolve = field(default_factory=lambda: Evolve(privacy=OFF, vouching=VOUCHING))
    ranks: ranking.Rank = field(default_factory=lambda: ranking.Rank(privacy=OFF, vouching=VOUCHING))

    def run(self, progress: Progress) -> dict[tuple[Targets, By], Hits]:
        """By target and what ranks, by user, which choices were hit."""
        found: dict[tuple[Targets, By], Hits] = {(targets, by): {} for targets in Targets for by in By}
        for done, user_id in enumerate(self.plan.choices):
            progress(done, len(self.plan.choices), f"{self.arm.value}: users")
            state = self._started(user_id)
            for visit in self.plan.past[user_id]:
                state = self._heard(state, user_id, visit)
            for choice in self.plan.choices[user_id]:
                for by in By:
                    hit = self._order(state.skill, choice, by)[0] == choice.taken.item_id
                    for targets in self._targets(user_id, choice):
                        found[targets, by].setdefault(user_id, []).append(hit)
                state = self._heard(state, user_id, choice.taken)
        progress(len(self.plan.choices), len(self.plan.choices), f"{self.arm.value}: users")
        return found

    def _started(self, user_id: str) -> State:
        first = self._event(user_id, self.plan.past[user_id][0], Signal.PURCHASED)
        usual = fixed(self.plan.populations[user_id].usual)
        return State(Start(privacy=OFF).skill(user_id, self.plan.domain, first, None, (), usual), usual=usual)

    def _targets(self, user_id: str, choice: Choice) -> Iterator[Targets]:
        yield Targets.ALL
        rating = self.ratings.of.get((user_id, choice.taken.item_id))
        if rating is not None and rating > self.ratings.middle:
            yield Targets.LIKED

    def _order(self, skill: PolicySkill, choice: Choice, by: By) -> tuple[str, ...]:
        items = [self.plan.facts[item_id] for item_id in choice.candidates]
        weights = DEFAULT_WEIGHTS
        if by is By.SKILL:
            weights = replace(weights, companions=0.0, popularity=0.0, facets=0.0)
        spoken = self.ranks.spoken(items, self.ranks.lines(skill), choice.context, choice.popularity)
        heard = self.ranks.heard(skill, items, choice.taken.at)
        return self.ranks.weighed(items, spoken, "", choice.request_id, weights, heard).order

    def _heard(self, state: State, user_id: str, visit: Visit) -> State:
        for signal in self._signals(user_id, visit):
            event = self._event(user_id, visit, signal)
            state = replace(state, skill=self.evolve.hear(state, event, self.plan.facts[visit.item_id]).skill)
        return state

    def _signals(self, user_id: str, visit: Visit) -> Iterator[Signal]:
        is_rated = (user_id, visit.item_id) in self.ratings.of
        if self.arm is not Arm.RATED or not is_rated:
            # A purchase counts what a visit counts: one.
            yield Signal.PURCHASED
        if self.arm is not Arm.VISITS and is_rated:
            yield Signal.RATED

    def _event(self, user_id: str, visit: Visit, signal: Signal) -> Feedback:
        is_rating = signal is Signal.RATED
        return Feedback(
            event_id=derived_id("rating", signal.value, user_id, visit.item_id),
            occurred_at=visit.at,
            user_id=UserId(user_id),
            domain=Domain(self.plan.domain),
            item=self.plan.items[visit.item_id],
            signal=signal.value,
            value=self.ratings.of[user_id, visit.item_id] if is_rating else None,
            scale=self.ratings.scale if is_rating else None,
        )


def _result(
    played: Mapping[Arm, Mapping[tuple[Targets, By], Hits]], arm: Arm, targets: Targets, by: By, seed: int
) -> Result:
    hits, base = played[arm][targets, by], played[Arm.VISITS][targets, by]
    means = [sum(each) / len(each) for each in hits.values()]
    result = Result(
        arm, targets, by, len(hits), sum(map(len, hits.values())), sum(means) / len(means) if means else 0.0
    )
    if arm is Arm.VISITS or len(means) < 2:
        return result
    found = compare(means, [sum(each) / len(each) for each in base.values()], seed)
    return replace(result, difference=found.difference, ci95=found.ci95)
