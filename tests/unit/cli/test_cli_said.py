"""How the command line tells what a person said: for how long it holds, and what became of it."""

from datetime import timedelta

import pytest

from operators.history import statement_steps
from schemas import Evidence, Heard, Said, Scope, SkillDiff, Stance, Statement, StatementChange
from streams.cli.policy.wording import all_said, changed, heard
from streams.rights.sentences import holds, sentence, statement_sentence, what
from tests.builders import DOMAIN, NOW, USER

HORROR = "avoids:preference:genre:horror"


def a_diff() -> SkillDiff:
    return SkillDiff(
        event_id="e1",
        occurred_at=NOW,
        user_id=USER,
        domain=DOMAIN,
        base_version=0,
        version=1,
        evidence=Evidence(event_id="e1"),
    )


def a_statement(stance: Stance = Stance.AVOIDS, value: str = "horror", **more: object) -> Statement:
    fields = {
        "statement_id": f"{stance.value}:preference:genre:{value}",
        "stance": stance,
        "attribute_id": f"preference:genre:{value}",
        "dimension": "genre",
        "value": value,
        "words": "no horror",
        "said_at": NOW,
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
def test_a_statement_is_told_in_words(said: Statement, told: str) -> None:
    assert what(said) == told


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, "always"),
        ({"until": NOW + timedelta(minutes=30), "scope": Scope.NOW}, "until 2026-01-01 12:30 UTC"),
        ({"until": NOW, "scope": Scope.NOW}, "over"),
        (
            {"until": NOW + timedelta(hours=2), "scope": Scope.SESSION, "session_id": "s1"},
            "until 2026-01-01 14:00 UTC, in session s1",
        ),
        ({"since": 2}, "always, doubtful since version 3"),
    ],
)
def test_it_is_told_how_long_a_statement_holds(more: dict[str, object], told: str) -> None:
    assert holds(a_statement(**more), 3 if "since" in more else 0, NOW) == told


def test_each_change_of_a_statement_is_a_line() -> None:
    said = a_statement(times=2, scope=Scope.NOW, until=NOW)
    stated = StatementChange(kind=Said.STATED, statement_id=HORROR, statement=said)
    gone = StatementChange(kind=Said.WITHDRAWN, statement_id=HORROR)

    assert changed(stated, {}) == f"+ avoids horror (genre) [{HORROR}], for now, said 2 times"
    assert changed(gone, {HORROR: said}) == f"- avoids horror (genre) [{HORROR}], withdrawn"
    assert changed(gone, {}) == f"- {HORROR}, withdrawn", "the log was forgotten up to there"


def test_every_kind_of_change_has_a_sign() -> None:
    for kind in Said:
        assert changed(StatementChange(kind=kind, statement_id=HORROR), {})[:2].strip()


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (Heard(what="rated", value=4.0), ("signal rated 4", "")),
        (Heard(what="abstention"), ("nothing was taken", "the list did not suit; that is no word against its items")),
        (Heard(what="correction", words="no horror", by_pattern="no-x"), ("said “no horror”", "read by no-x")),
        (Heard(what="correction"), ("said by a form", "")),
        (
            Heard(what="correction", words="hm", understood=False, explanation="Name a genre."),
            ("said “hm”", "not understood: it changes nothing. Name a genre."),
        ),
        (
            Heard(what="correction", understood=False, explanation="It is about another person's taste."),
            ("said something", "not understood: it changes nothing. It is about another person's taste."),
        ),
    ],
)
def test_what_was_heard_is_told_with_whether_it_was_understood(told: Heard, line: tuple[str, str]) -> None:
    assert heard(a_diff().model_copy(update={"heard": told})) == [line]


def test_a_choice_is_nothing_that_was_heard() -> None:
    assert heard(a_diff()) == []


def test_a_statement_has_a_history_of_its_own() -> None:
    stated = StatementChange(kind=Said.STATED, statement_id=HORROR, statement=a_statement())
    gone = StatementChange(kind=Said.WITHDRAWN, statement_id=HORROR)
    diffs = [a_diff().model_copy(update={"stated": changes}) for changes in ((stated,), (), (gone,))]

    assert [change.kind for _, change in statement_steps(diffs, HORROR)] == [Said.STATED, Said.WITHDRAWN]
    assert list(all_said(diffs)) == [HORROR]


@pytest.mark.parametrize(
    ("kind", "words", "actor", "told"),
    [
        ("stated", "no horror", None, "You said: “no horror”."),
        ("stated", "", None, "You said so in a form, or by a strong signal on it."),
        ("withdrawn", "", None, "You took it back."),
        ("removed", "", "support", "Support removed it."),
        ("expired", "", None, "Its time was over."),
    ],
)
def test_a_statement_is_explained_to_the_person(kind: str, words: str, actor: str | None, told: str) -> None:
    assert statement_sentence(kind, words, actor, "") == told


def step(**more: object) -> dict[str, object]:
    return {
        "kind": "reinforced",
        "actor": None,
        "ranking": None,
        "title": "Heat",
        "reason": "",
        "tier_before": "low",
        "tier_after": "medium",
        "verdict": None,
        "taken": None,
        **more,
    }


@pytest.mark.parametrize(
    ("told", "begins"),
    [
        ({"what": "rated", "value": 4.0}, "You rated *Heat* with 4."),
        ({"what": "liked"}, "You liked *Heat*."),
        ({"what": "shared"}, "Of *Heat* the app told: shared."),
        ({"what": "correction", "words": "more crime"}, "You said: “more crime”."),
        (None, "You took *Heat*."),
    ],
)
def test_a_step_names_what_it_answers(told: dict[str, object] | None, begins: str) -> None:
    assert sentence(step(heard=told)) == f"{begins} It went from “a first sign” to “likely”."


def test_a_line_overtaken_by_a_suspected_change_is_explained_as_uncertain() -> None:
    assert sentence(step(kind="overtaken", tier_after="silent")) == (
        "You took *Heat*. Your taste may have changed: older choices count for less now."
    )
