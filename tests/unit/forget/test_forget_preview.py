"""The preview of an erasure, in words for a lay person."""

from collections import Counter

import pytest

from schemas import TOPICS
from streams.materializer.ddl import all_tables
from streams.rights import preview
from streams.rights.holdings import Holdings
from streams.settings import Settings


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Holdings:
    found = Holdings(
        "ann",
        topics={
            "selections": Counter({"films": 30, "books": 1}),
            "corrections": Counter({"films": 5}),
            "skill-diffs": Counter({"films": 31}),
        },
        tables={"selections": Counter({"films": 40, "books": 1}), "skills": Counter({"films": 1, "books": 1})},
    )
    monkeypatch.setattr(preview, "count", lambda *_: found)
    return found


def test_an_erasure_is_one_sentence_and_three_groups(held: Holdings) -> None:
    found = preview.goes(Settings(), "ann", None, None)

    assert found.sentence == "This erases everything that was learned about ann: 2 skills, 41 choices, 5 statements."
    learned, recorded, stays = found.groups
    assert (learned.title, learned.items) == ("Learned", ("2 skills", "31 versions of skills"))
    assert (recorded.title, recorded.items) == ("Recorded", ("41 choices", "5 statements"))
    assert stays.title == "Stays, and why"
    assert stays.items[0].startswith("A receipt without the name")
    assert {each.store: each.records for each in found.stores}["table selections"] == 41


def test_an_erasure_of_a_domain_counts_that_domain_alone(held: Holdings) -> None:
    found = preview.goes(Settings(), "ann", "books", None)

    assert found.sentence == "This erases everything that was learned about ann in books: 1 skill, 1 choice."


def test_an_erasure_of_a_line_keeps_the_choices_and_says_why(held: Holdings) -> None:
    found = preview.goes(Settings(), "ann", "films", "preference:genre:noir")

    assert found.sentence == "This erases one line that was learned about ann in films."
    assert found.groups[-1].items[0] == "The choices behind the line: other lines rest on them too."


def test_a_person_without_data_gets_one_sentence(held: Holdings) -> None:
    held.topics.clear()
    held.tables.clear()

    found = preview.goes(Settings(), "ann", None, None)

    assert (found.sentence, found.groups) == ("Nothing is held about ann.", ())


def test_the_preview_words_existing_stores_only() -> None:
    known = {*TOPICS, *(table.name for table in all_tables())}
    named = {store for kind in (*preview._LEARNED, *preview._RECORDED) for store in kind.stores}

    assert named <= known
