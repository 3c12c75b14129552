"""`sager eval feedback`: its person, its protocol, its figures and its command."""

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from evaluation.exceptions import QualityError
from evaluation.feedback.learners import InPassing, Remembers, Replies, Skills
from evaluation.feedback.person import Kind, answered, reply
from evaluation.feedback.protocol import Played, bins, play, recovery, reliability
from evaluation.feedback.scenarios import ORIGINAL, SHIFTED, Scenarios, Taste, read
from evaluation.simulation import Turn
from schemas import Option, Question, Stance
from streams.cli import app

SAMPLE = Path(__file__).parents[2] / "data" / "pahf"
FLOOR = 1.0
"""On this sample skills have to be at least as good as the learner that only remembers, over all tests."""


@pytest.fixture(scope="module")
def scenarios() -> Scenarios:
    return read(SAMPLE)


@pytest.fixture(scope="module")
def remembering(scenarios: Scenarios) -> Played:
    return asyncio.run(play(scenarios, Remembers()))


def test_the_person_says_what_the_benchmarks_person_says(scenarios):
    expected = [json.loads(line) for line in (SAMPLE / "replies.jsonl").read_text().splitlines()]
    assert {row[3] for row in expected} == set(Kind) - {Kind.ANSWERED}

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


def test_an_answer_tells_of_each_option_what_the_person_thinks_of_it():
    options = tuple(Option(attribute_id=f"preference:kind:{v}", value=v) for v in ("cable", "radio", "light"))
    question = Question(question_id="q", dimension="kind", text="?", options=options)
    taste = Taste({"kind": "Light"}, {"kind": frozenset({"Cable"})})

    said = answered(question, taste, "kind")

    assert (said.kind, said.answers) == (Kind.ANSWERED, "q")
    assert [(each.stance, each.value, each.over) for each in said.says] == [
        (Stance.AVOIDS, "cable", None),
        (Stance.PREFERS, "radio", None),
        (Stance.PREFERS, "light", None),
        (Stance.INSTEAD, "light", "radio"),
    ]
    assert said.text == "I like radio. I like light. I prefer light over radio. I don't want cable."


@pytest.mark.parametrize("replies", list(Replies))
def test_skills_learn_at_least_what_a_learner_remembers_that_was_told_in_fields(scenarios, remembering, replies):
    skills = Skills(replies)
    passing = InPassing(skills)

    played = asyncio.run(play(scenarios, passing))

    assert sum(each.success for each in played.passes) >= FLOOR * sum(each.success for each in remembering.passes)
    assert skills.directed
    assert all(skills.directed)
    assert (passing.said > 0, passing.learned) == (True, 0)
    assert all(each["bins"] for each in reliability(played))


def test_a_question_saves_wrong_offers(scenarios):
    asking = asyncio.run(play(scenarios, Skills(), 1, asks=True, phases=(1,))).passes[0]
    silent = asyncio.run(play(scenarios, Skills(), 1, phases=(1,))).passes[0]

    assert any(each.asked for each in asking.served)
    assert asking.right >= 2 * silent.right


def test_a_learner_knows_nothing_of_the_answer(scenarios):
    """Offers depend on what was said, not on what is right: with other answers, they are the same."""
    blind = {
        phase: tuple(type(each)(each.key, 9, each.user_id, each.domain, "", each.items, None) for each in found)
        for phase, found in scenarios.phases.items()
    }

    async def offers(shown: Any) -> list[str | None]:
        skills = Skills()
        return [(await skills.answer(Turn(each.user_id, each))).action for each in shown]

    assert asyncio.run(offers(scenarios.phases[1])) == asyncio.run(offers(blind[1]))


def test_bins_tell_how_far_chances_can_be_relied_on():
    low, high = bins([(0.05, False), (0.92, True), (1.0, True), (0.98, False)])

    assert (low["from"], low["to"], low["predicted"], low["came"], low["n"]) == (0.0, 0.1, 0.05, 0.0, 1)
    assert (high["from"], high["predicted"], high["came"], high["n"]) == (0.9, 0.9667, 0.6667, 3)
    assert high["error"] == pytest.approx(0.96667 - 2 / 3, abs=1e-4)


def test_recovery_needs_a_shift(scenarios, remembering):
    assert recovery(asyncio.run(play(scenarios, Remembers(), 1, phases=(1,)))) is None
    found = recovery(remembering)
    assert found is not None
    assert found["right_before"] == round(remembering.of(1)[-1].right, 4)


def command(*args: object) -> Result:
    return CliRunner().invoke(app, ["eval", "feedback", *map(str, args)], env={"COLUMNS": "200"})


def test_json_ends_with_the_summary():
    done = command("--data", SAMPLE, "--json", "--passes", 2)

    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    named = ["pass"] * 4 + ["clarify", "shift", "directives", "others", "reliability", "reliability", "yardstick"]
    assert [line["line"] for line in lines] == [*named, "summary"]
    summary = lines[-1]
    assert [len(summary[f"phase_{phase}"]) for phase in (1, 2, 3, 4)] == [2, 2, 2, 2]
    assert (summary["llm_calls"], summary["clarifications"], summary["replies"]) == (0, 0, "text")
    assert summary["phase_2"] == [line["success"] for line in lines[:2]]
    assert lines[6]["honoured_at_once"] == 1.0


def test_a_person_gets_tables():
    done = command("--data", SAMPLE, "--passes", 1, "--people", 1, "--ask", "--replies", "structured")

    assert done.exit_code == 0, done.output
    assert "1 people, 1 tastes, replies as structured, no model" in " ".join(done.stdout.split())
    assert "chances of candidates" in done.stdout
    assert not done.stdout.count("{")


def test_a_wrong_command_line_is_told(tmp_path):
    assert "text, structured" in command("--data", SAMPLE, "--replies", "songs").stderr
    missing = command("--data", tmp_path)
    assert missing.exit_code != 0
    assert isinstance(missing.exception, SystemExit | QualityError)


def test_a_folder_that_does_not_fit_together_is_told(tmp_path):
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
