"""The preview of an erasure, in words for a lay person."""

from collections import Counter

import pytest

from operators.evolve.proposals import Proposal, ValidatedProposal
from operators.language.corrections import understand
from operators.learning.update import resolve_choice
from operators.steps.evolve import EvolveState, EvolveStep
from schemas import Correction, Directive, Stance
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from streams.rights import previews as preview
from streams.rights.previews import DataInventory
from streams.settings import Settings
from tests.builders import DOMAIN, NOW, USER, a_contrast, a_skill, an_attribute, id_of


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> DataInventory:
    found = DataInventory(
        "ann",
        stores={
            "topic selections": Counter({None: 6}),
            "topic corrections": Counter({"films": 17}),
            "topic skill-diffs": Counter({"films": 31}),
            "table selections": Counter({None: 42}),
            "table contrasts": Counter({"films": 40, "books": 1}),
            "table skills": Counter({"films": 1, "books": 1}),
            "table statements": Counter({"films": 3}),
        },
    )
    monkeypatch.setattr(preview, "count_data", lambda *_: found)
    return found


def test_preview_counts_every_store(held: DataInventory) -> None:
    found = preview.preview_erasure(Settings(), "ann", None, None)

    assert found.sentence == "This erases all of ann: 2 skills, 41 choices, 3 statements."
    assert found.stays.startswith("A receipt without the name")
    assert {each.store: each.records for each in found.stores}["table selections"] == 42
    assert {each.store: each.fate for each in found.stores}["topic skill-diffs"] == "goes"


def test_preview_of_a_domain_counts_that_domain_only(held: DataInventory) -> None:
    found = preview.preview_erasure(Settings(), "ann", "books", None)

    assert found.sentence == "This erases ann in books: 1 skill, 1 choice."


def test_preview_of_a_line_keeps_the_choices_and_explains_it(held: DataInventory) -> None:
    found = preview.preview_erasure(Settings(), "ann", "films", "preference:genre:noir")

    assert found.sentence.startswith("This erases the line preference:genre:noir of ann in films. The choices")


def test_preview_accepts_a_line_known_from_statements() -> None:
    said = Directive(stance=Stance.AVOIDS, dimension="genre", value="horror")
    correction = Correction(event_id="w", occurred_at=NOW, user_id=USER, domain=DOMAIN, directives=(said,))
    skill = a_skill(an_attribute("genre: noir"), version=0)
    diff = (
        EvolveStep(gate=OUTPUT_GATE, privacy=PRIVACY)
        .correct(EvolveState(skill), correction, (), understand(correction, (), skill, reader=RULES, privacy=PRIVACY))
        .diff
    )
    assert diff is not None

    held = DataInventory(USER, diffs={DOMAIN: [diff]})

    horror = id_of("genre: horror")
    assert held.lines(DOMAIN) == [f"avoids:{horror}", horror, id_of("genre: noir")]


def test_preview_accepts_a_hypothesis() -> None:
    diff = resolve_choice(a_skill(), ValidatedProposal(Proposal()), a_contrast(["genre: noir"], [["genre: saga"]]))

    assert DataInventory(USER, diffs={DOMAIN: [diff]}).lines(DOMAIN) == [id_of("genre: noir"), id_of("genre: saga")]
