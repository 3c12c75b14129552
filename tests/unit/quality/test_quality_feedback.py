"""`sager eval feedback`: its person, its protocol, its figures and its command."""

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from evaluation.feedback.figures import Bin, bins, expected_error, of_candidates, of_nothing, recovery
from evaluation.feedback.learners import Remembers
from evaluation.feedback.others import Others
from evaluation.feedback.person import Kind, answered, in_words, reply
from evaluation.feedback.play import Play, Played
from evaluation.feedback.scenarios import ORIGINAL, SHIFTED, BadScenarios, Scenarios, Taste, read
from evaluation.feedback.skills import Replies, Skills
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
    return asyncio.run(Play(scenarios, Remembers()).run())


def test_the_person_says_what_the_benchmarks_person_says(scenarios):
    expected = [json.loads(line) for line in (SAMPLE / "replies.jsonl").read_text().splitlines()]
    assert {row[3] for row in expected} == set(Kind)

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

    assert [(each.stance, each.value, each.over) for each in said] == [
        (Stance.AVOIDS, "cable", None),
        (Stance.PREFERS, "radio", None),
        (Stance.PREFERS, "light", None),
        (Stance.INSTEAD, "light", "radio"),
    ]
    assert in_words(said) == "I like radio. I like light. I prefer light over radio. I don't want cable."


@pytest.mark.parametrize("replies", list(Replies))
def test_skills_learn_at_least_what_a_learner_remembers_that_was_told_in_fields(scenarios, remembering, replies):
    skills = Skills(replies)
    others = Others(skills)

    played = asyncio.run(Play(scenarios, skills, aside=others).run())

    assert sum(each.success for each in played.passes) >= FLOOR * sum(each.success for each in remembering.passes)
    assert skills.directed
    assert all(each.is_last and each.is_named for each in skills.directed)
    assert (others.said > 0, others.learned) == (True, 0)
    assert of_candidates(played.passes[-1].test)
    assert of_nothing(played.passes[-1].test)


def test_a_question_saves_wrong_offers(scenarios):
    asking = asyncio.run(Play(scenarios, Skills(), 1, asks=True, phases=(1,)).run()).passes[0]
    silent = asyncio.run(Play(scenarios, Skills(), 1, phases=(1,)).run()).passes[0]

    assert any(turn.asked for turn in asking.turns)
    assert asking.right >= 2 * silent.right


def test_the_same_play_gives_the_same_figures(scenarios):
    plays = [asyncio.run(Play(scenarios, Skills(), 1).run()) for _ in range(2)]

    assert plays[0] == plays[1]


def test_a_learner_knows_nothing_of_the_answer(scenarios):
    """Offers depend on what was said, not on what is right: with other answers, they are the same."""
    blind = {
        phase: tuple(type(each)(each.key, 9, each.user_id, each.domain, "", each.items, None) for each in found)
        for phase, found in scenarios.phases.items()
    }

    async def offers(shown: Any) -> list[str | None]:
        skills = Skills()
        return [(await skills.offer(each, explores=True)).action for each in shown]

    assert asyncio.run(offers(scenarios.phases[1])) == asyncio.run(offers(blind[1]))


def test_bins_tell_how_far_chances_can_be_relied_on():
    found = bins([(0.05, False), (0.92, True), (1.0, True), (0.98, False)])

    assert found == [Bin(0.0, 0.1, 0.05, 0.0, 1), Bin(0.9, 1.0, pytest.approx(0.9667, abs=1e-3), 2 / 3, 3)]
    assert expected_error(found) == pytest.approx((0.05 + 3 * (0.96667 - 2 / 3)) / 4, abs=1e-4)
    assert expected_error([]) == 0.0


def test_recovery_needs_a_shift(scenarios, remembering):
    assert recovery(asyncio.run(Play(scenarios, Remembers(), 1, phases=(1,)).run())) is None
    found = recovery(remembering)
    assert found is not None
    assert found.before == remembering.of(1)[-1].right


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


def test_a_person_gets_a_table_and_a_diagram(tmp_path):
    drawn = tmp_path / "reliability.svg"
    wanted = ("--passes", 1, "--people", 1, "--ask", "--replies", "structured", "--diagram", drawn)
    done = command("--data", SAMPLE, *wanted)

    assert done.exit_code == 0, done.output
    assert "1 people, 1 tastes, replies as structured, no model" in done.stdout
    assert "one question allowed per scenario" in done.stdout
    assert not done.stdout.count("{")
    assert ElementTree.fromstring(drawn.read_text()).tag.endswith("svg")


def test_a_wrong_command_line_is_told(tmp_path):
    assert "text, structured" in command("--data", SAMPLE, "--replies", "songs").stderr
    missing = command("--data", tmp_path)
    assert missing.exit_code != 0
    assert isinstance(missing.exception, SystemExit | BadScenarios)


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
        with pytest.raises(BadScenarios, match=told):
            read(folder)
