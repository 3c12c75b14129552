"""A card as signals and commands move it: a little, with the reason, and never against what was set."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.cards.commands import is_as_it_was, resolve_command
from operators.cards.fold import with_diff
from operators.cards.rewards import resolve_reward
from schemas import ONE, Feedback, encode
from schemas.cards import Card, CardAction, CardChangeKind, CardCommand, CardStated, Strength
from schemas.statements import Stance
from streams.privacy import DEFAULT as PRIVACY
from tests.builders import NOW, a_candidate, a_name, item_facts
from tests.unit.cards.cards_builders import LATER, a_card, a_line


def a_signal(name: str, value: float | None = None, domain: str = "films") -> Feedback:
    return Feedback(
        event_id=a_name("f"),
        occurred_at=LATER,
        user_id="ann",
        domain=domain,
        item=a_candidate(),
        signal=name,
        value=value,
    )


NOIR = item_facts("i1", "genre: noir", title="Night and the City")


def test_a_signal_moves_what_the_item_has_and_says_so() -> None:
    card = a_card(a_line("noir"), a_line("night city"), a_line("tea"), a_line("noir", domain="books"))
    diff = resolve_reward(card, a_signal("liked"), NOIR, None)
    assert diff is not None
    moved = {change.line.value: change.line.weight for change in diff.changes if change.line}
    assert moved == {"noir": 1024 + 192, "night city": 1024 + 96}
    assert {change.kind for change in diff.changes} == {CardChangeKind.REWARDED}
    assert diff.changes[0].reason == "liked on an item that has it: 0.75 more than is usual"
    assert diff.reward == 96


def test_what_is_usual_moves_nothing() -> None:
    card = a_card(a_line("noir"), reward=768)
    assert resolve_reward(card, a_signal("liked"), NOIR, None) is None


@pytest.mark.parametrize(("name", "least", "most"), [("liked", 2_450, 2_600), ("skipped", 800, 900)])
def test_a_flood_of_one_signal_moves_a_line_so_far_and_no_further(name: str, least: int, most: int) -> None:
    card = a_card(a_line("noir"))
    moves = 0
    while (diff := resolve_reward(card, a_signal(name), NOIR, None)) is not None:
        card, moves = with_diff(card, diff.model_copy(update={"version": card.version + 1})), moves + 1
        assert moves < 100
    assert least <= card.lines[0].weight <= most


def test_a_weak_signal_moves_little() -> None:
    diff = resolve_reward(a_card(a_line("noir")), a_signal("skipped"), NOIR, None)
    assert diff is not None
    assert diff.changes[0].line is not None
    assert 0 < 1024 - diff.changes[0].line.weight < 32


def test_who_takes_what_they_avoid_weakens_that() -> None:
    diff = resolve_reward(a_card(a_line("noir", stance=Stance.AVOIDS)), a_signal("purchased"), NOIR, None)
    assert diff is not None
    assert diff.changes[0].line is not None
    assert diff.changes[0].line.weight == 1024 - 256


@given(st.lists(st.sampled_from(["liked", "disliked", "returned", "purchased", "skipped"]), max_size=40))
def test_rewards_turn_nothing_and_touch_nothing_that_was_set(signals: list[str]) -> None:
    card = a_card(a_line("noir"), a_line("genre noir", strength=Strength.SET, weight=4096))
    for name in signals:
        diff = resolve_reward(card, a_signal(name), NOIR, None)
        card = card if diff is None else with_diff(card, diff)
    loose, kept = card.lines
    assert loose.stance is Stance.PREFERS
    assert ONE // 8 <= loose.weight <= 4 * ONE
    assert (kept.weight, kept.against) == (4096, 0)
    assert -ONE <= card.reward <= ONE


def test_a_signal_of_an_unknown_kind_or_heard_twice_changes_nothing() -> None:
    card = a_card(a_line("noir"))
    assert resolve_reward(card, a_signal("shared"), NOIR, None) is None
    signal = a_signal("liked")
    diff = resolve_reward(card, signal, NOIR, None)
    assert diff is not None
    assert resolve_reward(with_diff(card, diff), signal, NOIR, None) is None


def a_command(action: CardAction, **kept: Any) -> CardCommand:
    kept.setdefault("reason", "Anna of 5 Elm Street told me about insulin")
    kept.setdefault("occurred_at", LATER)
    return CardCommand(event_id=a_name("k"), user_id="ann", action=action, actor="ann", **kept)


def commanded(card: Card | None, action: CardAction, **kept: Any) -> Card:
    diff = resolve_command(card, a_command(action, **kept), None, PRIVACY)
    assert diff is not None
    assert "insulin" not in encode(diff).decode()
    return with_diff(card, diff)


def test_what_is_set_takes_the_place_of_a_line() -> None:
    card = a_card(a_line("tea", pinned=True), a_line("milk"))
    stated = CardStated(value="coffee")
    card = commanded(card, CardAction.SET, line=stated, line_id=card.lines[0].line_id)
    assert [line.value for line in card.lines] == ["milk", "coffee"]
    assert (card.lines[1].strength, card.lines[1].pinned) == (Strength.SET, True)
    assert card.past[0].overtaken_by == "prefers:stated:coffee"
    card = commanded(card, CardAction.SET, line=CardStated(value="milk", stance=Stance.AVOIDS))
    assert [line.line_id for line in card.lines] == ["prefers:stated:coffee", "avoids:stated:milk"]


def test_what_is_set_again_in_the_same_words_is_as_it_was() -> None:
    stated = CardStated(value="tea")
    card = commanded(None, CardAction.SET, line=stated)

    def is_as_before(card: Card, **line: Any) -> bool:
        command = a_command(CardAction.SET, line=stated.model_copy(update=line), occurred_at=LATER + timedelta(days=1))
        diff = resolve_command(card, command, None, PRIVACY)
        assert diff is not None
        return is_as_it_was(card, diff)

    assert is_as_before(card)
    assert not is_as_before(card, stance=Stance.AVOIDS)
    assert not is_as_before(card, domain="films")
    assert not is_as_before(card, value="Tea"), "it is written otherwise now"
    assert not is_as_before(a_card(a_line("tea"))), "they said it, and nobody set it"
    assert not is_as_before(a_card(card.lines[0].model_copy(update={"against": 512}))), "a hint spoke against it"
    assert not is_as_before(a_card(*card.lines, a_line("tea", stance=Stance.AVOIDS))), "its opposite is there too"


def test_a_line_is_pinned_unpinned_and_removed() -> None:
    card = a_card(a_line("tea"), past=(a_line("very tea", overtaken_at=NOW, overtaken_by="prefers:stated:tea"),))
    name = card.lines[0].line_id
    card = commanded(card, CardAction.PIN, line_id=name)
    assert card.lines[0].pinned
    assert resolve_command(card, a_command(CardAction.PIN, line_id=name), None, PRIVACY) is None
    card = commanded(card, CardAction.UNPIN, line_id=name)
    assert not card.lines[0].pinned
    card = commanded(card, CardAction.REMOVE, line_id=name)
    assert not card.lines
    assert not card.past
    assert resolve_command(card, a_command(CardAction.REMOVE, line_id=name), None, PRIVACY) is None


def test_what_may_not_be_kept_is_not_set() -> None:
    diff = resolve_command(None, a_command(CardAction.SET, line=CardStated(value="insulin")), None, PRIVACY)
    assert diff is not None
    assert not diff.changes
    assert [each.kind for each in diff.not_kept] == ["health"]


def test_what_is_set_for_one_domain_leaves_what_holds_anywhere() -> None:
    card = commanded(None, CardAction.SET, line=CardStated(value="horror", dimension="genre", stance=Stance.AVOIDS))
    stated = CardStated(value="horror", dimension="genre", stance=Stance.AVOIDS, domain="films")
    card = commanded(card, CardAction.SET, line=stated)
    assert [line.domain for line in card.lines] == [None, "films"]
    card = commanded(card, CardAction.SET, line=stated.model_copy(update={"domain": None}))
    assert [line.domain for line in card.lines] == [None]
