"""`sager eval feedback`: its person, its protocol, its figures and its command."""

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.exceptions import QualityError
from evaluation.feedback.learners import InPassingLearner, ReplyForm, SkillLearner, StructuredLearner
from evaluation.feedback.person import ReplyKind, reply
from evaluation.feedback.protocol import EvaluationResult, reliability, run_pass
from evaluation.feedback.scenarios import ORIGINAL, SHIFTED, Scenarios, read
from evaluation.simulation import Turn
from schemas import Stance

SAMPLE = Path(__file__).parents[2] / "data" / "pahf"
FLOOR = 1.0
"""On this sample skills have to be at least as good as the learner that only remembers, over all tests."""


@pytest.fixture(scope="module")
def scenarios() -> Scenarios:
    return read(SAMPLE)


@pytest.fixture(scope="module")
def remembering(scenarios: Scenarios) -> EvaluationResult:
    return asyncio.run(run_pass(scenarios, StructuredLearner()))


def test_the_simulated_person_words_feedback_like_the_benchmark(scenarios):
    expected = [json.loads(line) for line in (SAMPLE / "replies.jsonl").read_text().splitlines()]
    assert {row[3] for row in expected} == set(ReplyKind) - {ReplyKind.ANSWERED}

    for phase, place, action, kind, text, item_id, dislikes, prefers in expected:
        scenario = scenarios.phases[phase][place]
        shifted = phase == 3
        before = scenarios.taste(scenario, ORIGINAL) if shifted else None
        said = reply(scenario, scenarios.taste(scenario, SHIFTED if shifted else ORIGINAL), before, action)
        named = {
            stance: [each.dimension, each.value]
            for each in said.says
            for stance in [each.stance]
            if each.item_id is None
        }
        assert (said.kind, said.text, said.item_id) == (kind, text, item_id)
        assert (named.get(Stance.AVOIDS), named.get(Stance.PREFERS)) == (dislikes, prefers)
        assert said.is_right is (action == scenario.answer)


@pytest.mark.parametrize("replies", list(ReplyForm))
def test_skills_learn_as_much_as_a_learner_with_structured_feedback(scenarios, remembering, replies):
    skills = SkillLearner(replies)
    passing = InPassingLearner(skills)

    played = asyncio.run(run_pass(scenarios, passing))

    assert sum(each.success for each in played.passes) >= FLOOR * sum(each.success for each in remembering.passes)
    assert skills.directed
    assert all(skills.directed)
    assert (passing.said > 0, passing.learned) == (True, 0)
    assert all(each["bins"] for each in reliability(played))


def test_a_learner_does_not_see_the_answer(scenarios):
    """Offers depend on what was said, not on what is right: with other answers, they are the same."""
    blind = {
        phase: tuple(type(each)(each.key, 9, each.user_id, each.domain, "", each.items, None) for each in found)
        for phase, found in scenarios.phases.items()
    }

    async def offers(shown: Any) -> list[str | None]:
        skills = SkillLearner()
        return [(await skills.answer(Turn(each.user_id, each))).action for each in shown]

    assert asyncio.run(offers(scenarios.phases[1])) == asyncio.run(offers(blind[1]))


def test_an_inconsistent_folder_is_an_error(tmp_path):
    people, rows = (gzip.decompress((SAMPLE / f"{name}.jsonl.gz").read_bytes()) for name in ("people", "scenarios"))
    for name, data, told in (
        ("no people", (b"", rows), "taste fits scenario"),
        ("one phase", (people, rows.splitlines(keepends=True)[0]), "no scenario of phase"),
        ("no json", (people, b"{"), "is no folder of scenarios"),
        ("a list", (people, b"[1]\n"), "is no folder of scenarios"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        for file, content in zip(("people", "scenarios"), data, strict=True):
            (folder / f"{file}.jsonl.gz").write_bytes(gzip.compress(content))
        with pytest.raises(QualityError, match=told):
            read(folder)
