"""An evaluation's skills are the stream's: the same histories and choices give the same lines in both."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evaluation.plans import Lists, Plan, plans
from evaluation.skill_arms import SAGER, STREAM_RULES, By, Played
from evaluation.stream import play
from operators.retrieve import Retrieved
from schemas import (
    GlobalSkill,
    PolicySkill,
    Profile,
    Ranking,
    WeightAction,
    WeightCommand,
    Weights,
    encode,
)
from tests.harness import Harness
from tests.unit.quality.quality_builders import data_set, tastes

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker, pytest.mark.thorough]

USERS, VISITS, ROUNDS = 8, 8, 4


def lines(skill: PolicySkill) -> tuple[int, int, list[Any]]:
    """All of a skill that says how its user decides, and how often it has changed."""
    found = [
        (a.attribute_id, a.tier, a.taken, a.expected, a.support, a.contradictions, a.source, a.confirmed_at)
        for a in skill.attributes
    ]
    return skill.version, skill.contrasts, found


def publish(harness: Harness, population: GlobalSkill | None) -> None:
    """What is to be expected of anybody; a worker reads it before all else."""
    assert population is not None
    assert population.usual
    harness.raw.produce(harness.settings.topic(GlobalSkill.TOPIC), encode(population), key=population.domain.encode())
    harness.raw.flush(10)


def alone(plan: Plan) -> Plan:
    """The plan without a community, and with one population for all: nobody's next choice waits for the graph."""
    common = plan.populations[min(plan.populations)]
    return replace(
        plan,
        choices={
            user_id: tuple(replace(choice, context=Retrieved(), popularity={}) for choice in choices)
            for user_id, choices in plan.choices.items()
        },
        populations=dict.fromkeys(plan.populations, common),
    )


async def test_users_who_choose_through_the_broker_are_ranked_for_and_learned_from_as_in_the_process(
    harness: Harness, tmp_path: Path
) -> None:
    [made] = plans(data_set(tmp_path / "films", tastes(USERS, VISITS)), [Lists.EXPOSED], [2], USERS)
    plan = alone(made)
    result = await play(STREAM_RULES[SAGER], plan, (By.MIX,), weighs=False)
    assert {bool(each.order) for each in result.arm.played} == {True, False}, "with visits that come without a list"
    population = next(iter(plan.populations.values()))
    publish(harness, population)
    harness.worker(retrieve=False, propagate=False, weights_flush_seconds=0.1)
    # Weights that learn come over a topic in their own time: here they are frozen before the first choice.
    harness.send(
        WeightCommand(
            event_id="freeze",
            occurred_at=datetime.now(UTC),
            domain=plan.domain,
            action=WeightAction.FREEZE,
            actor="test",
        )
    )
    harness.until(lambda out: any(weights.frozen for weights in out.values(Weights)), "frozen weights")

    told = 0
    for user_id, visits in plan.past.items():
        for visit in visits:
            harness.events.interaction(user_id, plan.domain, plan.items[visit.item_id], at=visit.at)
            told += 1
    harness.events.flush()
    harness.count(Profile, told)
    begun: set[str] = set()
    learned = 0
    for turn in result.arm.played:
        if turn.order:
            choose(harness, plan, turn)
            begun.add(turn.user_id)
        else:
            item = plan.items[turn.choice.taken.item_id]
            harness.events.interaction(turn.user_id, plan.domain, item, at=turn.choice.taken.at)
            told += 1
            harness.events.flush()
            harness.count(Profile, told)
        learned += turn.user_id in begun  # a visit before the first choice is for the prior alone
        harness.until(lambda out, n=learned: len(out.diffs) >= n, f"{learned} diffs")

    streamed = {skill.user_id: lines(skill) for skill in harness.skills().values()}
    assert streamed == {user_id: lines(skill) for user_id, skill in result.arm.skills.items() if user_id in begun}
    assert harness.outputs.dead_letters == []


def choose(harness: Harness, plan: Plan, turn: Played) -> None:
    """Ask for a ranking, find it as the process has it, and take what the user took."""
    choice = turn.choice
    request = harness.events.rank_request(
        turn.user_id,
        plan.domain,
        [plan.items[item_id] for item_id in choice.candidates],
        request_id=choice.request_id,
        at=choice.taken.at,
    )
    harness.events.flush()
    out = harness.until(
        lambda out: any(found.ranking_id == choice.request_id for found in out.values(Ranking)), "the ranking"
    )
    [ranking] = [found for found in out.values(Ranking) if found.ranking_id == choice.request_id]
    assert tuple(item.item_id for item in ranking.candidates) == turn.order
    harness.events.selection(request, choice.taken.item_id, at=choice.taken.at)
    harness.events.flush()
