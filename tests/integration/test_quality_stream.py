"""An evaluation's skills are the stream's: the same histories and choices give the same lines in both."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from evaluation.community import shared_world
from evaluation.leave_one_out import ARMS
from evaluation.plans import Lists, Plan, plans
from evaluation.simulation import no_progress
from evaluation.skill_arms import SAGER, STREAM_RULES, By, Played
from evaluation.split import Split, read
from evaluation.stream import play
from evaluation.warm_up import ArmOptions
from operators.retrieve import Retrieved
from schemas import (
    GlobalSkill,
    Injected,
    PolicySkill,
    Profile,
    Ranking,
    SkillDiff,
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


def shown(split: Split, each: Played) -> Ranking:
    choice = each.choice
    return Ranking(
        event_id=f"ranking-{choice.request_id}",
        occurred_at=choice.taken.at,
        ranking_id=choice.request_id,
        user_id=each.user_id,
        domain=split.domain,
        candidates=tuple(split.items[item_id] for item_id in each.order),
        injected=Injected(facets=choice.context.facets),
    )


def publish(harness: Harness, population: GlobalSkill | None) -> None:
    """What is to be expected of anybody; a worker reads it before all else."""
    assert population is not None
    assert population.usual
    harness.raw.produce(harness.settings.topic(GlobalSkill.TOPIC), encode(population), key=population.domain.encode())
    harness.raw.flush(10)


async def test_the_warm_up_leaves_the_skills_that_the_stream_learns_of_the_same_choices(
    harness: Harness, tmp_path: Path
) -> None:
    split, _ = read(data_set(tmp_path / "films", tastes(USERS, VISITS)))
    arm = ARMS["sager-counts"].make(ArmOptions(tau=ROUNDS))
    await arm.train(split, no_progress)
    assert any(each.choice.context.facets for each in arm.skills.played)
    publish(harness, shared_world(split, no_progress).population)
    # What the community says comes with the rankings here.
    harness.worker(propagate=False)

    imported = 0
    for user_id, visits in split.training.items():
        for visit in visits:
            harness.events.interaction(user_id, split.domain, split.items[visit.item_id], at=visit.at)
            imported += 1
    harness.events.flush()
    # A skill starts from the profile that is there at the first choice.
    harness.count(Profile, imported)
    for each in arm.skills.played:
        ranking, user_id = shown(split, each), each.user_id
        harness.send(ranking)
        taken = each.choice.taken
        harness.events.selection(user_id=user_id, ranking_id=ranking.ranking_id, item_id=taken.item_id, at=taken.at)
    harness.events.flush()
    harness.count(SkillDiff, USERS * ROUNDS)

    streamed = {skill.user_id: lines(skill) for skill in harness.skills().values()}
    assert streamed == {user_id: lines(skill) for user_id, skill in arm.skills.skills.items()}
    assert {version for version, *_ in streamed.values()} == {ROUNDS}
    assert harness.outputs.dead_letters == []


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
