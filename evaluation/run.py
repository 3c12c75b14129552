"""Runs an arm over a split: trains it, has it rank every case, and measures its answers."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from evaluation.arms.arm import Arm, Cost, Ranked, Spends
from evaluation.case import Case, Split
from evaluation.concurrent import each
from evaluation.confidence import Comparison, compare, interval
from evaluation.exceptions import ArmFailed, QualityError
from evaluation.measures import averages, hit_at

CONCURRENCY = 16


class At(Protocol):
    """Receives progress: how much of a stage is done, and its cost so far, if any."""

    def __call__(self, stage: str, done: int, total: int, cost: str = "") -> object:
        """Receives one update."""
        ...


@dataclass(frozen=True, slots=True)
class Setting:
    """The settings of a result, besides the split itself."""

    candidates: str
    seed: int


@dataclass(frozen=True)
class Result:
    """The result of an arm.

    Attributes:
        places: the rank of each user's target, from 1, by user id in the order of the cases.
        measures: the mean of each of `measures.MEASURES`.
        ci95_hit_at_1: bootstrap interval of Hit@1 over users.
        llm_calls, prompt_tokens, completion_tokens: the cost of training and ranking, whichever run paid for it.
        seconds: the time of training and ranking.
        cached_calls: how many of the calls an earlier run had made.
        unusable: LLM questions with unusable answers.
    """

    arm: str
    data: str
    setting: Setting
    places: Mapping[str, int]
    measures: Mapping[str, float]
    ci95_hit_at_1: tuple[float, float]
    llm_calls: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    cached_calls: int = 0
    unusable: int = 0

    def as_json(self) -> dict[str, Any]:
        """Everything but the individual users, ready for JSON."""
        return {
            "arm": self.arm,
            "data": self.data,
            "candidates": self.setting.candidates,
            "users": len(self.places),
            **{name: round(value, 4) for name, value in self.measures.items()},
            "ci95_hit_at_1": [round(bound, 4) for bound in self.ci95_hit_at_1],
            "llm_calls": self.llm_calls,
            "cached_calls": self.cached_calls,
            "unusable": self.unusable,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "seconds": round(self.seconds, 3),
            "seed": self.setting.seed,
        }


async def run(
    arm: Arm,
    split: Split,
    answers: Mapping[str, str],
    setting: Setting,
    at: At = lambda *_, **__: None,
    concurrency: int = CONCURRENCY,
) -> Result:
    """Trains an arm and has it rank every case, several at a time.

    Raises:
        ArmFailed: it raised, or an answer is not a permutation of the candidates.
        QualityError: the arm's own error, which says what to do next.
    """
    began = time.monotonic()
    try:
        await _train(arm, split, at)
        answered = await _rank(arm, split, at, concurrency)
    finally:
        if isinstance(arm, Spends):
            await arm.aclose()
    places = {case.user_id: answered[case.user_id].order.index(answers[case.user_id]) + 1 for case in split.cases}
    numbers = list(places.values())
    spent = arm.spent if isinstance(arm, Spends) else sum(map(_of_ranking, answered.values()), Cost())
    return Result(
        arm=arm.name,
        data=split.data,
        setting=setting,
        places=places,
        measures=averages(numbers),
        ci95_hit_at_1=interval(hit_at(1, numbers), setting.seed),
        llm_calls=spent.calls,
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=spent.completion_tokens,
        cached_calls=spent.cached_calls,
        unusable=spent.unusable,
        seconds=time.monotonic() - began,
    )


def versus(one: Result, other: Result) -> Comparison:
    """The difference in Hit@1 of two arms on their common users.

    Raises:
        QualityError: there are fewer than two of them.
    """
    users = [user_id for user_id in one.places if user_id in other.places]
    if len(users) < 2:
        raise QualityError(f"{one.arm} and {other.arm} were tested on {len(users)} common users: no comparison")
    hits, others = (hit_at(1, [result.places[user_id] for user_id in users]) for result in (one, other))
    return compare(hits, others, one.setting.seed)


async def _train(arm: Arm, split: Split, at: At) -> None:
    def progress(done: int, total: int, stage: str = "training") -> None:
        at(f"{arm.name}: {stage}", done, total, **_cost(arm))

    try:
        await arm.train(split, progress)
    except QualityError:
        raise
    except Exception as error:
        raise ArmFailed(f"the arm {arm.name} failed in training: {_told(error)}") from error


async def _rank(arm: Arm, split: Split, at: At, concurrency: int) -> dict[str, Ranked]:
    """The answers by user id."""
    answered: dict[str, Ranked] = {}

    async def work(case: Case) -> None:
        answered[case.user_id] = await _answer(arm, case)
        at(f"{arm.name}: ranking", len(answered), len(split.cases), **_cost(arm))

    await each(split.cases, work, concurrency)
    return answered


async def _answer(arm: Arm, case: Case) -> Ranked:
    try:
        ranked = await arm.rank(case)
    except QualityError:
        raise
    except Exception as error:
        raise ArmFailed(f"the arm {arm.name} failed on user {case.user_id}: {_told(error)}") from error
    if sorted(ranked.order) != sorted(case.candidates):
        raise ArmFailed(
            f"the arm {arm.name} answered user {case.user_id} with {len(ranked.order)} ids "
            f"({len(set(ranked.order) & set(case.candidates))} of the {len(case.candidates)} candidates): "
            "an answer has to have each candidate exactly once"
        )
    return ranked


def _of_ranking(ranked: Ranked) -> Cost:
    return Cost(ranked.calls, ranked.prompt_tokens, ranked.completion_tokens)


def _cost(arm: Arm) -> dict[str, str]:
    """The cost of an arm so far, in words; empty if it has none."""
    if not isinstance(arm, Spends):
        return {}
    spent = arm.spent
    kept = f" ({spent.cached_calls:,} kept)" if spent.cached_calls else ""
    return {"cost": f"{spent.calls:,} calls{kept}, {spent.prompt_tokens + spent.completion_tokens:,} tokens"}


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
