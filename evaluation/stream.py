"""The stream evaluation: choices one after another, in one process."""

import math
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.former import FormerArm
from evaluation.measures import Places, growth_rate, minus, summary
from evaluation.plans import Choice, Plan
from evaluation.simulation import Progress, Turn, no_progress, simulate
from evaluation.skill_arms import FORMER, PRIOR, RankBy, RankedArm, Rule, SkillArm
from streams.importers.dataset import Visit

# A chance below this counts as this, so that one surprise does not decide a mean.
_LEAST_CHANCE = 1e-6


@dataclass
class StreamResult:
    """One arm's outcome: places by ranker, of shown lists only; `losses` in nats, before each choice was learned."""

    arm: SkillArm
    places: dict[RankBy, dict[str, dict[int, int]]]
    losses: list[float]
    cpu_seconds: float


def in_order(plan: Plan, seed: int) -> list[Turn[Choice]]:
    """All choices: logged ones by their times, others in a random order that keeps each user's."""
    if plan.has_times:
        turns = [Turn(user_id, choice) for user_id, of_user in plan.choices.items() for choice in of_user]
        return sorted(turns, key=lambda turn: turn.shown.taken.at)
    return interleaved(plan.choices, seed)


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
    arm = (FormerArm if rule.name == FORMER else SkillArm)(rule, plan, by, weighs=weighs)
    places: dict[RankBy, dict[str, dict[int, int]]] = {each: {user_id: {} for user_id in plan.choices} for each in by}
    seen: Counter[str] = Counter()
    losses: list[float] = []

    def record(turn: Turn[Choice], answer: RankedArm, reply: Visit) -> None:
        del reply
        if answer.order:
            for each in by:
                places[each][turn.user_id][seen[turn.user_id]] = answer.place(turn.shown, each)
            chance = answer.chances[turn.shown.taken.item_id]
            losses.append(-math.log(max(1.0 - chance if turn.shown.rejected else chance, _LEAST_CHANCE)))
        seen[turn.user_id] += 1

    await simulate(in_order(plan, seed), arm, choose, record, progress, rule.name)
    return StreamResult(arm, places, losses, time.process_time() - began)


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
                "candidates": "logged" if plan.lists is None else plan.lists.value,
                "history": plan.history,
                "by": by.value,
                **figures.as_json(),
                "log_loss": round(math.fsum(result.losses) / len(result.losses), 4) if by is RankBy.MIX else None,
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
