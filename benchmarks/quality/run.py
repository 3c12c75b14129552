"""Running an arm over a split: it trains, answers every case, and its answers are measured."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.quality.arms.arm import Arm, Ranked
from benchmarks.quality.case import Case, Split
from benchmarks.quality.confidence import Comparison, compare, interval
from benchmarks.quality.exceptions import ArmFailed, QualityError
from benchmarks.quality.measures import averages, hit_at

CONCURRENCY = 16
At = Callable[[str, int, int], None]
"""Is told of a stage how much of how much is done."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a result was measured under, besides the split itself."""

    candidates: str
    seed: int


@dataclass(frozen=True)
class Result:
    """What came of an arm.

    Attributes:
        places: at which place each user's target came, from 1, by user id in the order of the cases.
        measures: the mean of each of `measures.MEASURES`.
        ci95_hit_at_1: bootstrap interval of Hit@1 over users.
        llm_calls, prompt_tokens, completion_tokens: of ranking all cases.
        seconds: of training and ranking.
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

    def as_json(self) -> dict[str, Any]:
        """All but the single users, ready for JSON."""
        return {
            "arm": self.arm,
            "data": self.data,
            "candidates": self.setting.candidates,
            "users": len(self.places),
            **{name: round(value, 4) for name, value in self.measures.items()},
            "ci95_hit_at_1": [round(bound, 4) for bound in self.ci95_hit_at_1],
            "llm_calls": self.llm_calls,
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
    at: At = lambda *_: None,
    concurrency: int = CONCURRENCY,
) -> Result:
    """Train an arm and have it rank every case, several at a time.

    Raises:
        ArmFailed: it raised, or an answer is not the candidates in some order.
    """
    began = time.monotonic()
    try:
        await arm.train(split, lambda done, total: at(f"{arm.name}: training", done, total))
    except Exception as error:
        raise ArmFailed(f"the arm {arm.name} failed in training: {_told(error)}") from error
    answered = await _rank(arm, split, at, concurrency)
    places = {case.user_id: answered[case.user_id].order.index(answers[case.user_id]) + 1 for case in split.cases}
    numbers = list(places.values())
    return Result(
        arm=arm.name,
        data=split.data,
        setting=setting,
        places=places,
        measures=averages(numbers),
        ci95_hit_at_1=interval(hit_at(1, numbers), setting.seed),
        llm_calls=sum(ranked.calls for ranked in answered.values()),
        prompt_tokens=sum(ranked.prompt_tokens for ranked in answered.values()),
        completion_tokens=sum(ranked.completion_tokens for ranked in answered.values()),
        seconds=time.monotonic() - began,
    )


def versus(one: Result, other: Result) -> Comparison:
    """Hit@1 of one arm less that of another, on the users that both were tested on.

    Raises:
        QualityError: these are fewer than two.
    """
    users = [user_id for user_id in one.places if user_id in other.places]
    if len(users) < 2:
        raise QualityError(f"{one.arm} and {other.arm} were tested on {len(users)} common users: no comparison")
    hits, others = (hit_at(1, [result.places[user_id] for user_id in users]) for result in (one, other))
    return compare(hits, others, one.setting.seed)


async def _rank(arm: Arm, split: Split, at: At, concurrency: int) -> dict[str, Ranked]:
    """The answers by user id."""
    answered: dict[str, Ranked] = {}

    async def work(cases: Iterator[Case]) -> None:
        for case in cases:
            answered[case.user_id] = await _answer(arm, case)
            at(f"{arm.name}: ranking", len(answered), len(split.cases))

    waiting = iter(split.cases)
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(work(waiting))
    except ExceptionGroup as failed:
        first = failed.exceptions[0]
        raise first from first.__cause__
    return answered


async def _answer(arm: Arm, case: Case) -> Ranked:
    try:
        ranked = await arm.rank(case)
    except Exception as error:
        raise ArmFailed(f"the arm {arm.name} failed on user {case.user_id}: {_told(error)}") from error
    if sorted(ranked.order) != sorted(case.candidates):
        raise ArmFailed(
            f"the arm {arm.name} answered user {case.user_id} with {len(ranked.order)} ids "
            f"({len(set(ranked.order) & set(case.candidates))} of the {len(case.candidates)} candidates): "
            "an answer has to have each candidate exactly once"
        )
    return ranked


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
