"""An evaluation's skills are the stream's: the same histories and choices give the same lines in both."""

from pathlib import Path

import pytest

from benchmarks.quality.arms import ArmOptions
from benchmarks.quality.arms.sager import sager_rules
from benchmarks.quality.split import read
from schemas import PolicySkill, Profile, SkillDiff
from tests.harness import Harness
from tests.unit.quality.quality_builders import data_set, tastes

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

USERS, VISITS, ROUNDS = 8, 10, 6


def lines(skill: PolicySkill) -> tuple[int, int, list[tuple[object, ...]]]:
    """All of a skill that says how its user decides, and how often it has changed."""
    found = [(a.attribute_id, a.tier, a.support, a.contradictions, a.source, a.confirmed_at) for a in skill.attributes]
    return skill.version, skill.contrasts, found


async def test_the_warm_up_leaves_the_skills_that_the_stream_learns_of_the_same_choices(
    harness: Harness, tmp_path: Path
) -> None:
    split, _ = read(data_set(tmp_path / "films", tastes(USERS, VISITS)))
    arm = sager_rules(ArmOptions(tau=ROUNDS))
    await arm.train(split, lambda *_: None)
    harness.worker()

    imported = 0
    for user_id, visits in split.training.items():
        for visit in visits:
            harness.events.interaction(user_id, split.domain, split.items[visit.item_id], at=visit.at)
            imported += 1
    harness.events.flush()
    # A skill starts from the profile that is there at the first choice.
    harness.count(Profile, imported)
    for each in arm.rounds:
        shown = [split.items[item_id] for item_id in each.order]
        ranking = harness.events.ranking(each.user_id, split.domain, shown, ranking_id=each.ranking_id, at=each.at)
        harness.events.selection(ranking, each.chosen, at=each.at)
    harness.events.flush()
    harness.count(SkillDiff, USERS * ROUNDS)

    streamed = {skill.user_id: lines(skill) for skill in harness.skills().values()}
    assert streamed == {user_id: lines(skill) for user_id, skill in arm.skills.items()}
    assert {version for version, *_ in streamed.values()} == {ROUNDS}
    assert sum(support for _, _, found in streamed.values() for _, _, support, *_ in found) > 0
    assert harness.outputs.dead_letters == []
