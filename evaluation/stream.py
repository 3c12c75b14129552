"""The stream evaluation: choices one after another, in one process."""

import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.measures import Places, growth_rate, minus, summary
from evaluation.plans import Choice, Plan
from evaluation.simulation import Progress, Turn, no_progress, simulate
from evaluation.skill_arms import PRIOR, RankBy, RankedArm, Rule, SkillArm
from streams.importers import Visit


@dataclass
class StreamResult:
    """One arm's outcome: places by ranker, of shown lists only."""

    arm: SkillArm
    places: dict[RankBy, dict[str, dict[int, int]]]
    cpu_seconds: float


def interleaved(choices: Mapping[str, Sequence[Choice]], seed: int) -> list[Turn[Choice]]:
    """Choices of all users in a random order, each user's kept."""
    order = [user_id for user_id in sorted(choices) for _ in choices[user_id]]
    random.Random(f"{seed}/interleaved").shuffle(order)
    waiting = {user_id: iter(of_user) for user_id, of_user in choices.items()}
    return [Turn(user_id, next(waiting[user_id])) for user_id in order]


def choose(turn: Turn[Choice], answer: object) -> Visit:
    """The user model of data sets: repeat the recorded choice."""
    del answer
    return turn.shown.taken


async def simulate_user(
    rule: Rule,
    plan: Plan,
    by: Sequence[RankBy] = tuple(RankBy),
    seed: int = 0,
    *,
    weighs: bool = True,
    progress: Progress = no_progress,
) -> StreamResult:
    """Play all choices of a plan with one arm."""
    began = time.process_time()
    arm = SkillArm(rule, plan, by, weighs=weighs)
    places: dict[RankBy, dict[str, dict[int, int]]] = {each: {user_id: {} for user_id in plan.choices} for each in by}
    seen: Counter[str] = Counter()

    def record(turn: Turn[Choice], answer: RankedArm, reply: Visit) -> None:
        del reply
        if answer.order:
            for each in by:
                places[each][turn.user_id][seen[turn.user_id]] = answer.place(turn.shown, each)
        seen[turn.user_id] += 1

    await simulate(interleaved(plan.choices, seed), arm, choose, record, progress, rule.name)
    return StreamResult(arm, places, time.process_time() - began)


def lines_of(plan: Plan, results: Sequence[StreamResult], by: RankBy, seed: int) -> list[dict[str, Any]]:
    """One object per arm with its figures by a ranker."""
    places: dict[str, Places] = {result.arm.name: result.places[by] for result in results}
    found: list[dict[str, object]] = []
    for result in results:
        name = result.arm.name
        own = places[name]
        figures = summary(own, seed)
        grown = growth_rate(own, places[PRIOR], seed) if PRIOR in places and name != PRIOR else None
        found.append(
            {
                "arm": name,
                "data": plan.data,
                "candidates": plan.lists.value,
                "history": plan.history,
                "by": by.value,
                **figures.as_json(),
                "by_seen": {name: round(hits, 4) for name, hits in figures.by_seen.items()},
                "choices_by_seen": figures.choices_by_seen,
                "minus": {
                    name: minus(own, other, seed).as_json() for name, other in places.items() if other is not own
                },
                "growth": None if grown is None else grown.as_json(),
                "cpu_ms_per_choice": round(1_000 * result.cpu_seconds / len(result.arm.played), 3),
                "seed": seed,
            }
        )
    return found
