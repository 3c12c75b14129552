"""`sager policy log`: texts for statements and feedback."""

import pytest

from schemas import DiffTrigger, Evidence, SkillDiff, Stance, Statement
from streams.cli.policy.log import describe_feedback
from streams.cli.policy.show import _show_skill
from streams.views.phrases import statement_words
from streams.views.sentences import statement_sentence
from tests.builders import DOMAIN, NOW, USER, a_skill


def a_diff() -> SkillDiff:
    event = {"event_id": "e1", "occurred_at": NOW, "user_id": USER, "domain": DOMAIN}
    return SkillDiff(**event, base_version=0, version=1, evidence=Evidence(event_id="e1"))


def a_statement(stance: Stance = Stance.AVOIDS, value: str = "horror", **more: object) -> Statement:
    fields = {
        "statement_id": f"{stance.value}:preference:genre:{value}",
        "stance": stance,
        "attribute_id": f"preference:genre:{value}",
        "dimension": "genre",
        "value": value,
        "words": "no horror",
        "stated_at": NOW,
        "evidence": Evidence(event_id="e1"),
    }
    return Statement.model_validate({**fields, **more})


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (a_statement(), "avoids horror (genre)"),
        (a_statement(Stance.PREFERS, "crime"), "prefers crime (genre)"),
        (
            a_statement(Stance.INSTEAD, "crime", over="preference:genre:western"),
            "wants crime instead of western (genre)",
        ),
    ],
)
def test_a_statement_is_formatted_as_text(said: Statement, told: str) -> None:
    assert statement_words(said) == told


def test_a_skill_without_lines_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    _show_skill(a_skill().model_copy(update={"contrasts": 1}))

    assert "learned from 1 choice, " in (shown := capsys.readouterr().out)
    assert "no line yet" in shown


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (DiffTrigger(what="rated", value=4.0), ("signal rated 4", "")),
        (DiffTrigger(what="correction", words="no horror", by_pattern="no-x"), ("stated “no horror”", "read by no-x")),
        (
            DiffTrigger(what="correction", words="hm", understood=False, explanation="Name a genre."),
            ("stated “hm”", "not understood: changes nothing. Name a genre."),
        ),
    ],
)
def test_feedback_is_described_with_the_result(told: DiffTrigger, line: tuple[str, str]) -> None:
    assert describe_feedback(a_diff().model_copy(update={"trigger": told})) == [line]


@pytest.mark.parametrize(
    ("kind", "words", "actor", "told"),
    [
        ("stated", "no horror", None, "You said: “no horror”."),
        ("stated", "", None, "You stated it in a form, or by a strong signal."),
        ("withdrawn", "", None, "You took it back."),
        ("removed", "", "support", "Support removed it."),
        ("expired", "", None, "It expired."),
    ],
)
def test_a_statement_is_explained_to_the_person(kind: str, words: str, actor: str | None, told: str) -> None:
    assert statement_sentence(kind, words, actor, "") == told
