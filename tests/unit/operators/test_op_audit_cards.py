"""Every edit of a card or of its log is found."""

from collections.abc import Callable

import pytest

from operators.cards.fold import fold
from operators.chain import Kind, audit_card, seal, seal_all
from schemas import Card, CardDiff, SkillDiff
from schemas.cards import CardChange, CardChangeKind
from tests.builders import NOW, a_proposal, a_skill, evolve
from tests.unit.cards.cards_builders import a_line

KEY = b"hush"
Log = list[CardDiff]


def a_diff(version: int, value: str) -> CardDiff:
    line = a_line(value, words=f"I like {value}")
    changes = (CardChange(kind=CardChangeKind.ADDED, line_id=line.line_id, line=line),)
    return CardDiff(event_id=f"e{version}", occurred_at=NOW, user_id="ann", version=version, changes=changes)


LOG = seal_all([a_diff(version, value) for version, value in enumerate(("noir", "saga", "tofu"), 1)], KEY)
CARD = fold(LOG)["ann"]


def changed(at: int, **fields: object) -> Log:
    return [diff.model_copy(update=fields) if place == at else diff for place, diff in enumerate(LOG)]


EDITS: dict[str, Callable[[], Log]] = {
    "the words": lambda: changed(1, changes=a_diff(2, "noir").changes),
    "when it was said": lambda: changed(1, occurred_at=NOW.replace(year=2020)),
    "a version less": lambda: [LOG[0], LOG[2]],
    "the seal": lambda: changed(2, chain=None),
    "another key": lambda: changed(2, chain=seal(LOG[2], LOG[1].chain, b"guess").chain),
    "the end": lambda: LOG[:2],
    "everything, with another key": lambda: seal_all(LOG, b"guess"),
}


def test_an_unedited_card_has_no_faults() -> None:
    assert audit_card(LOG, CARD, KEY) == []
    assert audit_card(LOG, fold(LOG[:2])["ann"], KEY) == [], "a worker has written more meanwhile"


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_a_cards_log_is_found(edit: str) -> None:
    assert audit_card(EDITS[edit](), CARD, KEY)


def test_an_edited_card_is_found() -> None:
    words = CARD.lines[0].model_copy(update={"words": "I love everything"})
    edited = CARD.model_copy(update={"lines": (words, *CARD.lines[1:])})
    cut_back: Card = fold(LOG[:2])["ann"].model_copy(update={"version": 3})

    assert [fault.kind for fault in audit_card(LOG, edited, KEY)] == [Kind.CARD_DIFFERS]
    assert [fault.kind for fault in audit_card(LOG, cut_back, KEY)] == [Kind.CARD_DIFFERS]
    assert [fault.kind for fault in audit_card(LOG, None, KEY)] == [Kind.CARD_MISSING]
    assert [fault.kind for fault in audit_card([], CARD, KEY)] == [Kind.LOG_CUT]


def test_a_seal_of_a_skill_is_invalid_for_a_card() -> None:
    _, diff = evolve(a_skill(), a_proposal())
    of_a_skill: SkillDiff = seal(diff, None, KEY)

    assert audit_card([LOG[0].model_copy(update={"chain": of_a_skill.chain})], fold(LOG[:1])["ann"], KEY)
