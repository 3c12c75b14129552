"""An evaluation's skills are the stream's: the same histories and choices give the same lines in both."""

from pathlib import Path
from typing import Any

import pytest

from evaluation.arms import ArmOptions
from evaluation.arms.sager import Round, sager_rules
from evaluation.case import Split
from evaluation.split import read
from schemas import Injected, PolicySkill, Profile, Ranking, SkillDiff
from tests.harness import Harness
from tests.unit.quality.quality_builders import data_set, tastes

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker, pytest.mark.thorough]

USERS, VISITS, ROUNDS = 8, 8, 4


def lines(skill: PolicySkill) -> tuple[int, int, list[Any]]:
    """All of a skill that says how its user decides, and how often it has changed."""
    found = [(a.attribute_id, a.tier, a.support, a.contradictions, a.source, a.confirmed_at) for a in skill.attributes]
    return skill.version, skill.contrasts, found


def shown(split: Split, each: Round) -> Ranking:
    return Ranking(
        event_id=f"ranking-{each.ranking_id}",
        occurred_at=each.at,
        ranking_id=each.ranking_id,
        user_id=each.user_id,
        domain=split.domain,
        candidates=tuple(split.items[item_id] for item_id in each.order),
        injected=Injected(facets=each.facets),
    )


async def test_the_warm_up_leaves_the_skills_that_the_stream_learns_of_the_same_choices(
    harness: Harness, tmp_path: Path
) -> None:
    split, _ = read(data_set(tmp_path / "films", tastes(USERS, VISITS)))
    arm = sager_rules(ArmOptions(tau=ROUNDS))
    await arm.train(split, lambda *_: None)
    assert any(each.facets for each in arm.rounds)
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
    for each in arm.rounds:
        ranking = shown(split, each)
        harness.send(ranking)
        harness.events.selection(
            user_id=ranking.user_id, ranking_id=ranking.ranking_id, item_id=each.chosen, at=each.at
        )
    harness.events.flush()
    harness.count(SkillDiff, USERS * ROUNDS)

    streamed = {skill.user_id: lines(skill) for skill in harness.skills().values()}
    assert streamed == {user_id: lines(skill) for user_id, skill in arm.skills.items()}
    assert {version for version, *_ in streamed.values()} == {ROUNDS}
    assert harness.outputs.dead_letters == []
