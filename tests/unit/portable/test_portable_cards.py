"""A card goes along with its person: its lines are set anew by commands."""

from datetime import timedelta

from operators.cards.commands import resolve_command
from operators.cards.fold import with_diff
from schemas import Card, CardAction, decode, encode
from schemas.cards import CardCommand
from streams.privacy import DEFAULT
from streams.rights.portable.cards import commands_of
from tests.analytics_talks import talks
from tests.builders import a_time

LATER = a_time(60 * 24 * 90)


def card_of(place: int) -> Card:
    people = ("ann", "bob", "cem")
    return [card for diff, card in talks(people, a_time(0)) if diff.user_id == people[place]][-1]


def heard(commands: list[CardCommand]) -> Card | None:
    card = None
    for command in commands:
        diff = resolve_command(card, decode(CardCommand, encode(command)), None, DEFAULT)
        assert diff is not None
        card = with_diff(card, diff)
    return card


def test_lines_are_said_anew_and_pins_hold() -> None:
    card = card_of(0)
    first = card.lines[0].model_copy(update={"pinned": True})
    card = card.model_copy(update={"lines": (first, *card.lines[1:])})

    now = heard(list(commands_of(card, "anna", LATER, str, "anna")))

    assert now is not None
    assert now.user_id == "anna"
    assert {line.line_id for line in now.lines} == {line.line_id for line in card.lines}
    assert [line.line_id for line in now.lines if line.pinned] == [first.line_id]
    assert now.past == ()


def test_of_one_domain_only_its_lines_go_along() -> None:
    found = list(commands_of(card_of(0), "anna", LATER, str, "anna", "films"))

    assert [(each.action, each.line and each.line.value) for each in found] == [(CardAction.SET, "horror")]
    assert list(commands_of(card_of(0), "anna", LATER + timedelta(days=1), str, "anna", "music")) == []
