"""The preview of an erasure, in words for a lay person."""

from collections import Counter
from pathlib import Path

import pytest

from operators.language.corrections import understand
from operators.steps import Evolve, State
from schemas import Correction, Directive, Stance
from streams.language import RULES
from streams.materializer.snapshot import copy_and_rename
from streams.materializer.store import Store
from streams.privacy import DEFAULT as PRIVACY
from streams.rights import preview
from streams.rights.holdings import Holdings, look
from streams.settings import Settings
from streams.vouching import DEFAULT as VOUCHING
from tests.analytics_world import SUNDAY
from tests.builders import DOMAIN, NOW, USER, a_skill, an_attribute, id_of
from tests.unit.materializer.materializer_builders import ranking, selection, write
from tests.unit.materializer.said_builders import correction
from tests.unit.materializer.test_materializer_rows import CONTRAST


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Holdings:
    found = Holdings(
        "ann",
        topics={
            "selections": Counter({None: 6}),
            "corrections": Counter({"films": 17}),
            "skill-diffs": Counter({"films": 31}),
        },
        tables={
            "selections": Counter({None: 42}),
            "contrasts": Counter({"films": 40, "books": 1}),
            "skills": Counter({"films": 1, "books": 1}),
            "statements": Counter({"films": 3}),
        },
    )
    monkeypatch.setattr(preview, "count", lambda *_: found)
    return found


def test_an_erasure_is_one_sentence_and_three_groups(held: Holdings) -> None:
    found = preview.goes(Settings(), "ann", None, None)

    assert found.sentence == "This erases everything that was learned about ann: 2 skills, 41 choices, 3 statements."
    learned, recorded, stays = found.groups
    assert (learned.title, learned.items) == ("Learned", ("2 skills", "3 statements", "31 versions of skills"))
    assert (recorded.title, recorded.items) == ("Recorded", ("41 choices", "17 corrections"))
    assert stays.title == "Stays, and why"
    assert stays.items[0].startswith("A receipt without the name")
    assert {each.store: each.records for each in found.stores}["table selections"] == 42


def test_declined_lists_and_words_are_no_choices_and_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = selection("r2").model_copy(update={"event_id": "n", "item_id": None, "none_taken": True})
    words = [correction(f"w{each}", user_id="ann", text="hm") for each in range(3)]
    with Store(tmp_path / "live.duckdb", "sager.") as store:
        write(store, ranking("r1"), ranking("r2"), selection("r1"), none, CONTRAST, *words)
        store.checkpoint(SUNDAY, SUNDAY)
        copy_and_rename(store.path, tmp_path / "sager.duckdb")
    settings = Settings(duckdb=tmp_path / "sager.duckdb")
    monkeypatch.setattr(preview, "count", lambda *_: look(settings, "ann"))

    for domain in (None, "books"):
        recorded = preview.goes(settings, "ann", domain, None).groups[1]

        assert recorded.items == ("1 choice", "2 lists that were shown", "3 corrections")


def test_an_erasure_of_a_domain_counts_that_domain_alone(held: Holdings) -> None:
    found = preview.goes(Settings(), "ann", "books", None)

    assert found.sentence == "This erases everything that was learned about ann in books: 1 skill, 1 choice."


def test_an_erasure_of_a_line_keeps_the_choices_and_says_why(held: Holdings) -> None:
    found = preview.goes(Settings(), "ann", "films", "preference:genre:noir")

    assert found.sentence == "This erases one line that was learned about ann in films."
    assert found.groups[-1].items[0] == "The choices behind the line: other lines rest on them too."


def test_a_line_that_was_only_spoken_of_can_be_named() -> None:
    said = Directive(stance=Stance.AVOIDS, dimension="genre", value="horror")
    correction = Correction(event_id="w", occurred_at=NOW, user_id=USER, domain=DOMAIN, says=(said,))
    skill = a_skill(an_attribute("genre: noir"), version=0)
    diff = (
        Evolve(vouching=VOUCHING, privacy=PRIVACY)
        .correct(State(skill), correction, (), understand(correction, (), skill, reader=RULES, privacy=PRIVACY))
        .diff
    )
    assert diff is not None

    held = Holdings(USER, diffs={DOMAIN: [diff]})

    horror = id_of("genre: horror")
    assert held.lines(DOMAIN) == [f"avoids:{horror}", horror, id_of("genre: noir")]
    assert held.versions_with(DOMAIN, id_of("genre: horror")) == 1
    assert held.versions_with(DOMAIN, id_of("genre: saga")) == 0
