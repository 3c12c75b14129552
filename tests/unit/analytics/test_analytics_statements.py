"""Statements of people in DuckDB: as the log folds, without private and erased ones."""

import random
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from operators.learning.fold import fold
from schemas import Directive, PolicySkill, SkillDiff, Stance, Statement, StatementChangeKind, encode
from schemas.events import Selection
from streams.analytics.store import DuckDBStore
from tests.shared_files import empty_store
from tests.unit.analytics.analytics_builders import (
    ASKED,
    AVOIDS_HORROR,
    NOON,
    NOT_DUNE,
    RATHER_NOIR,
    abstention,
    at,
    correction,
    eves_log,
    eves_skill,
    fitted,
    gone,
    heard,
    ranking,
    rated,
    record,
    rows,
    selection,
    stated,
    statement,
    write,
)
from tests.unit.analytics.test_analytics_rows import CONTRAST

MAIL, DIGITS = "call me at +49 151 23456789", b"23456789"
COLUMNS = (
    "statement_id, stance, dimension, value, over, item_id, measure, below, words, scope, session_id, until, times"
)


def naive(moment: datetime | None) -> datetime | None:
    return moment and moment.replace(tzinfo=None)


def of(said: Statement) -> tuple[Any, ...]:
    bound = said.bound
    return (
        said.statement_id, said.stance.value, said.dimension, said.value, said.over, said.item_id,
        bound and bound.measure.value, bound and bound.below, said.words, said.scope.value, said.session_id,
        naive(said.until), said.times,
    )  # fmt: skip


# --- rows


def test_a_skill_has_its_statements_and_loses_them_with_the_next_version(store: DuckDBStore) -> None:
    write(store, eves_skill())

    assert rows(store, f"SELECT {COLUMNS} FROM statements ORDER BY place") == [
        of(said) for said in (AVOIDS_HORROR, RATHER_NOIR, NOT_DUNE)
    ]
    assert rows(store, "SELECT statements, shifted FROM skills") == [(3, 2)]
    write(store, eves_skill().model_copy(update={"version": 5, "stated": (), "sessions": ()}))
    assert rows(store, "FROM statements") == []


# --- the fold

TAKE_BACK = [StatementChangeKind(kind) for kind in ("withdrawn", "expired", "removed", "full")]
SAYABLE = [statement(stance, f"preference:genre:{value}", value, 1) for value in "abcd" for stance in Stance]


def a_log(seed: int) -> list[SkillDiff]:
    """Versions that say, say again and take back things by chance."""
    rng = random.Random(seed)
    log = []
    for version in range(1, 25):
        changes = []
        for said in rng.sample(SAYABLE, rng.randint(0, 4)):
            again = said.model_copy(update={"since": version, "times": rng.randint(1, 9), "stated_at": at(version)})
            takes_back = gone(said, rng.choice(TAKE_BACK))
            changes.append(takes_back if rng.random() < 0.4 else stated(again))
        seed_of = {"seed": ()} if version == 1 else {}
        log.append(heard(version, "correction", stated=tuple(changes), shifted=rng.random() < 0.1, **seed_of))
    return log


@pytest.mark.parametrize("seed", range(8))
def test_statements_are_the_fold_of_the_log_in_any_order(store: DuckDBStore, seed: int) -> None:
    log = a_log(seed)
    [skill] = fold(log).values()
    skills: list[PolicySkill] = [fold(log[:end])["eve", "books"] for end in (3, 11, 24)]
    sent: list[PolicySkill | SkillDiff] = [*log, *skills, *log[::3]]
    random.Random(seed).shuffle(sent)
    for start in range(0, len(sent), 7):
        write(store, *sent[start : start + 7])

    current = rows(store, f"SELECT {COLUMNS}, doubtful FROM statements ORDER BY place")
    last = f"""
        SELECT {COLUMNS}, since < (SELECT coalesce(max(version) FILTER (taste_changed), 0) FROM skill_diffs) FROM (
            FROM statement_changes
            QUALIFY row_number() OVER (PARTITION BY user_id, domain, statement_id ORDER BY version DESC, seq DESC) = 1
        ) WHERE stance IS NOT NULL ORDER BY version, seq
    """

    assert current == [(*of(said), said.since < skill.shifted) for said in skill.stated]
    assert rows(store, last) == current, "the changes alone give the same"


# --- what is private, and what is forgotten


def test_private_statements_are_in_no_byte_of_the_file(tmp_path: Path) -> None:
    said = (
        Directive(stance=Stance.PREFERS, dimension="contact", value=MAIL),
        Directive(stance=Stance.INSTEAD, dimension="genre", value="noir", over=MAIL),
    )
    told = correction(text=f"no horror, {MAIL}", directives=said)
    assert DIGITS in encode(told)
    asked = abstention(instruction=f"something short, {MAIL}")
    with empty_store(tmp_path / "live.duckdb") as store:
        write(store, told, asked, rated(item=rated().item.model_copy(update={"title": MAIL})))
        store.checkpoint(NOON.replace(tzinfo=None), None)
        [(text,)] = rows(store, "SELECT text FROM corrections")

    assert text.startswith("no horror, ")
    assert DIGITS not in (tmp_path / "live.duckdb").read_bytes()


def test_words_marked_as_off_the_record_are_not_stored(store: DuckDBStore) -> None:
    write(store, correction(text="off the record: no horror"))

    assert rows(store, "SELECT text, acceptable FROM corrections") == [("", [])]


def published(store: DuckDBStore, query: str) -> list[Any]:
    store.checkpoint(at(10).replace(tzinfo=None), None)
    return rows(store, query)


def test_corrections_are_listed_as_understood_or_with_a_reason(store: DuckDBStore) -> None:
    write(store, correction("e2"), correction("e4", text="well, hm"), correction("e7", text="?"), *eves_log())

    query = "SELECT event_id, text, understood, why_not, version, statements, taste_changed FROM corrections_understood"

    assert published(store, f"{query} ORDER BY event_id") == [
        ("e2", "No horror any more, noir rather than sf", True, None, 2,
         ["avoids genre: horror", "instead genre: noir", "prefers price: price under 20"], True),
        ("e4", "well, hm", False, "not understood", 4, [], False),
        ("e7", "?", False, "not processed yet", None, [], False),
    ]  # fmt: skip


def test_a_question_is_joined_with_its_answer_and_selection(store: DuckDBStore) -> None:
    later = ranking("r9", "eve", "ab").model_copy(update={"occurred_at": at(6)})
    write(store, fitted("r1"), fitted("r5", asks=False), later, selection("r9", "b", "eve", 7))
    write(store, correction(answers=ASKED.question_id), *eves_log())

    query = (
        "SELECT ranking_id, dimension, question, answered_at IS NOT NULL, understood, len(statements), item_rank, "
        "next_rank"
    )

    assert published(store, f"{query} FROM questions_asked") == [("r1", "genre", ASKED.text, True, True, 3, None, 2)]


def test_an_answer_belongs_to_the_last_ranking_that_asked_before_it(store: DuckDBStore) -> None:
    again = fitted("r2").model_copy(update={"occurred_at": at(1)})
    write(store, fitted("r1"), again, correction(answers=ASKED.question_id), *eves_log())

    query = "SELECT ranking_id, answered_at IS NOT NULL FROM questions_asked ORDER BY 1"

    assert published(store, query) == [("r1", False), ("r2", True)]


def test_a_selection_after_none_was_taken_is_no_outcome(store: DuckDBStore) -> None:
    none = Selection(event_id="none", occurred_at=at(1), user_id="ann", ranking_id="r1", none_taken=True)
    write(store, ranking("r1"), ranking("r2"), record(none, 1), record(selection("r1"), 2), record(selection("r2"), 3))

    assert published(store, "SELECT ranking_id FROM outcomes") == [("r2",)]


def test_calibration_compares_predictions_with_outcomes(store: DuckDBStore) -> None:
    told = {"r1": 0.02, "r2": 0.31, "r3": 0.39, "r4": 0.95, "r5": 1.0, "r6": 0.35}
    write(store, *(fitted(name, nothing) for name, nothing in told.items()))
    taken = CONTRAST.model_copy(update={"user_id": "eve"})
    chosen = (taken.model_copy(update={"event_id": name, "ranking_id": name}) for name in ("r1", "r2"))
    write(store, *chosen, *(abstention(name) for name in ("r3", "r4", "r5")))

    query = "SELECT predicted_from, rankings, round(predicted, 3), happened, round(error, 3), said_unsuited"

    assert published(store, f"{query} FROM calibration ORDER BY 1") == [
        (0.0, 1, 0.02, 0.0, 0.0, 0),
        (0.3, 2, 0.35, 0.5, 0.354, 0),
        (0.9, 2, 0.975, 1.0, 0.0, 2),
    ]


def test_statements_at_a_moment_are_those_in_force(store: DuckDBStore) -> None:
    write(store, *eves_log())

    def meant(minutes: int) -> list[str]:
        query = (
            f"SELECT value FROM statements_at('eve', '{at(minutes).replace(tzinfo=None)}') ORDER BY stated_at, value"
        )
        return [value for (value,) in published(store, query)]

    # The records were logged at noon, before the first of them happened: versions are in force from then.
    assert meant(-1) == []
    assert meant(10) == ["horror", "noir", "Dune"]
    assert meant(122) == ["horror", "Dune"]
    assert rows(store, "SELECT * FROM statements_at('bob', '2027-01-01')") == []
