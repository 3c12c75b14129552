"""What people said, and what came of it: signals, corrections, statements, shifts, questions, abstentions."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from streams.analytics.store import DuckDBStore
from tests.unit.materializer.materializer_builders import at, ranking, rows, selection, write
from tests.unit.materializer.said_builders import ASKED, abstention, correction, eves_log, fitted
from tests.unit.materializer.test_materializer_rows import CONTRAST

PUBLISHED = at(10).replace(tzinfo=None)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DuckDBStore]:
    with DuckDBStore(tmp_path / "live.duckdb", "sager.") as opened:
        yield opened


def published(store: DuckDBStore, at_: datetime = PUBLISHED) -> DuckDBStore:
    store.checkpoint(at_, None)
    return store


def of(store: DuckDBStore, query: str) -> list[Any]:
    return rows(published(store), query)


def test_a_correction_is_understood_if_the_log_says_so_and_what_is_not_is_shown(store: DuckDBStore) -> None:
    write(store, correction("e2"), correction("e4", text="well, hm"), correction("e7", text="?"), *eves_log())

    query = "SELECT event_id, text, understood, why_not, version, said, taste_changed FROM corrections_understood"

    assert of(store, f"{query} ORDER BY event_id") == [
        ("e2", "No horror any more, noir rather than sf", True, None, 2,
         ["avoids genre: horror", "instead genre: noir", "prefers price: price under 20"], True),
        ("e4", "well, hm", False, "not understood", 4, [], False),
        ("e7", "?", False, "not heard yet", None, [], False),
    ]  # fmt: skip


def test_a_question_has_its_answer_and_what_was_taken_then(store: DuckDBStore) -> None:
    later = ranking("r9", "eve", "ab").model_copy(update={"occurred_at": at(6)})
    write(store, fitted("r1"), fitted("r5", asks=False), later, selection("r9", "b", "eve", 7))
    write(store, correction(answers=ASKED.question_id), *eves_log())

    query = (
        "SELECT ranking_id, dimension, question, answered_at IS NOT NULL, understood, len(said), item_rank, next_rank"
    )

    assert of(store, f"{query} FROM questions_asked") == [("r1", "genre", ASKED.text, True, True, 3, None, 2)]


def test_calibration_compares_what_rankings_said_with_what_happened(store: DuckDBStore) -> None:
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


def test_what_was_meant_at_a_moment_is_what_had_been_said_and_was_not_over(store: DuckDBStore) -> None:
    write(store, *eves_log())
    published(store)

    def meant(minutes: int) -> list[str]:
        query = (
            f"SELECT value FROM statements_at('eve', '{at(minutes).replace(tzinfo=None)}') ORDER BY stated_at, value"
        )
        return [value for (value,) in rows(store, query)]

    # The records were logged at noon, before the first of them happened: versions are in force from then.
    assert meant(-1) == []
    assert meant(10) == ["horror", "noir", "Dune"]
    assert meant(122) == ["horror", "Dune"]
    assert rows(store, "SELECT * FROM statements_at('bob', '2027-01-01')") == []
