"""What people said, and what came of it: signals, corrections, statements, shifts, questions, abstentions."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from schemas import ChangeKind, Selection
from streams.materializer.store import Store
from tests.unit.materializer.materializer_builders import NOON, at, ranking, rows, selection, write
from tests.unit.materializer.said_builders import (
    ASKED,
    HORROR,
    NOIR,
    SF,
    abstention,
    correction,
    eves_log,
    eves_skill,
    fitted,
    rated,
)
from tests.unit.materializer.test_materializer_rows import CONTRAST

PUBLISHED = at(10).replace(tzinfo=None)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "live.duckdb", "sager.") as opened:
        yield opened


def published(store: Store, at_: datetime = PUBLISHED) -> Store:
    store.checkpoint(at_, None)
    return store


def of(store: Store, query: str) -> list[Any]:
    return rows(published(store), query)


def test_signals_are_counted_by_day_and_kind_with_those_that_skills_learned_from(store: Store) -> None:
    liked = rated("e9", signal="liked", value=None, scale=None)
    write(store, rated(), rated("e8", value=4.0), liked, correction(), abstention(), *eves_log())

    found = of(store, "SELECT day::VARCHAR, signal, signals, users, mean_value, learned FROM signals ORDER BY signal")

    assert found == [
        ("2026-01-01", "abstention", 1, 1, None, 0),
        ("2026-01-01", "correction", 1, 1, None, 1),
        ("2026-01-01", "liked", 1, 1, None, 0),
        ("2026-01-01", "rated", 2, 1, 2.5, 1),
    ]


def test_a_list_of_which_nothing_was_taken_is_an_abstention_and_no_choice_that_missed(store: Store) -> None:
    none = Selection(event_id="n", occurred_at=at(1), user_id="ann", ranking_id="r2", none_taken=True)
    write(store, ranking("r1"), ranking("r2"), selection("r1"), none, CONTRAST.model_copy(update={"arm": "evolved"}))
    write(store, abstention("r2"), abstention("r3"), abstention("r4", arm="prior"))

    assert of(store, "SELECT ranking_id, item_rank FROM outcomes") == [("r1", 2)]
    found = rows(store, "SELECT arm, lists, abstentions, round(rate, 2) FROM abstention_rate ORDER BY arm")
    assert found == [("evolved", 3, 2, 0.67), ("prior", 1, 1, 1.0)]


def test_a_correction_is_understood_if_the_log_says_so_and_what_is_not_is_shown(store: Store) -> None:
    write(store, correction("e2"), correction("e4", text="well, hm"), correction("e7", text="?"), *eves_log())

    query = "SELECT event_id, text, understood, why_not, version, said, taste_changed FROM corrections_understood"

    assert of(store, f"{query} ORDER BY event_id") == [
        ("e2", "No horror any more, noir rather than sf", True, None, 2,
         ["avoids genre: horror", "instead genre: noir", "prefers price: price under 20"], True),
        ("e4", "well, hm", False, "not understood", 4, [], False),
        ("e7", "?", False, "not heard yet", None, [], False),
    ]  # fmt: skip


def test_shifts_say_how_they_were_known_and_when(store: Store) -> None:
    overtaken = eves_log()[2].changes[0].model_copy(update={"kind": ChangeKind.OVERTAKEN})
    falls = (*eves_log()[1].changes, overtaken)
    seen = eves_log()[0].model_copy(update={"user_id": "dan", "changes": falls})
    bare = eves_log()[3].model_copy(update={"user_id": "flo", "base_version": 0, "version": 1, "shifted": True})
    said = eves_log()[2].model_copy(update={"user_id": "gus", "base_version": 0, "version": 1, "shifted": True})
    said = said.model_copy(update={"heard": eves_log()[1].heard, "changes": (overtaken,)})
    write(store, *eves_log(), seen, bare, said)

    query = "SELECT user_id, how, attribute_id, before, after, words FROM shifts ORDER BY user_id, version, how"

    assert of(store, query) == [
        ("dan", "observed", SF, "high", "silent", None),
        ("dan", "overtaken", NOIR, "low", "silent", None),
        ("eve", "stated", SF, "high", "silent", "no horror any more"),
        ("eve", "faded", NOIR, "low", "silent", ""),
        ("flo", "stated", None, None, None, "well, hm"),
        ("gus", "overtaken", NOIR, "low", "silent", "no horror any more"),
        ("gus", "stated", "item:item:dune-1", None, None, "no horror any more"),
    ]


@pytest.mark.parametrize(
    ("minutes", "now"), [(10, {HORROR, NOIR, "item:item:dune-1"}), (122, {HORROR, "item:item:dune-1"})]
)
def test_statements_now_leaves_out_what_has_expired(store: Store, minutes: int, now: set[str]) -> None:
    write(store, eves_skill())
    published(store, (NOON + timedelta(minutes=minutes)).replace(tzinfo=None))

    kept = rows(store, "SELECT statement_id FROM statements")
    found = rows(store, "SELECT statement_id, doubtful FROM statements_now")

    assert len(kept) == 3
    assert {name.partition(":")[2] for name, _ in found} == now
    assert not any(doubtful for _, doubtful in found), "what was said with the change is as sure as ever"


def test_a_question_has_its_answer_and_what_was_taken_then(store: Store) -> None:
    later = ranking("r9", "eve", "ab").model_copy(update={"occurred_at": at(6)})
    write(store, fitted("r1"), fitted("r5", asks=False), later, selection("r9", "b", "eve", 7))
    write(store, correction(answers=ASKED.question_id), *eves_log())

    query = (
        "SELECT ranking_id, dimension, question, answered_at IS NOT NULL, understood, len(said), item_rank, next_rank"
    )

    assert of(store, f"{query} FROM questions_asked") == [("r1", "genre", ASKED.text, True, True, 3, None, 2)]


def test_calibration_compares_what_rankings_said_with_what_happened(store: Store) -> None:
    told = {"r1": 0.02, "r2": 0.31, "r3": 0.39, "r4": 0.95, "r5": 1.0, "r6": 0.35}
    write(store, *(fitted(name, nothing) for name, nothing in told.items()))
    taken = CONTRAST.model_copy(update={"user_id": "eve"})
    chosen = (taken.model_copy(update={"event_id": name, "ranking_id": name}) for name in ("r1", "r2"))
    write(store, *chosen, *(abstention(name) for name in ("r3", "r4", "r5")))

    query = "SELECT predicted_from, rankings, round(predicted, 3), happened, round(error, 3), said_unsuited"

    assert of(store, f"{query} FROM calibration ORDER BY 1") == [
        (0.0, 1, 0.02, 0.0, 0.0, 0),
        (0.3, 2, 0.35, 0.5, 0.354, 0),
        (0.9, 2, 0.975, 1.0, 0.0, 2),
    ]


def test_a_line_that_fell_for_a_signal_names_the_item_and_the_signal(store: Store) -> None:
    write(store, *eves_log(), rated("e3"))

    found = of(store, f"SELECT kind, title, heard, words FROM why('eve', '{NOIR}') WHERE version = 3")

    assert found == [("faded", "Dune", "rated", "")]


def test_what_was_meant_at_a_moment_is_what_had_been_said_and_was_not_over(store: Store) -> None:
    write(store, *eves_log())
    published(store)

    def meant(minutes: int) -> list[str]:
        query = f"SELECT value FROM statements_at('eve', '{at(minutes).replace(tzinfo=None)}') ORDER BY said_at, value"
        return [value for (value,) in rows(store, query)]

    # The records were logged at noon, before the first of them happened: versions are in force from then.
    assert meant(-1) == []
    assert meant(10) == ["horror", "noir", "Dune"]
    assert meant(122) == ["horror", "Dune"]
    assert rows(store, "SELECT * FROM statements_at('bob', '2027-01-01')") == []
