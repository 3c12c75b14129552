"""Conversations through the real stream: what is said goes on a card, and to the skill of its domain."""

from datetime import UTC, datetime
from typing import Any

import pytest

from operators.cards.fold import fold_cards
from schemas import Correction, PolicySkill, Receipt, Stance, Utterance, decode, encode
from schemas.cards import Card, CardAction, CardCommand, CardDiff, CardLine, PendingConversations
from tests.harness import Harness, Outputs

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

SHOWN: list[dict[str, Any]] = [
    {"item_id": genre, "title": genre.title(), "metadata": {"genre": genre}}
    for genre in ("horror", "comedy", "western", "musical", "thriller")
]


def said(user: str, turn: int, text: str = "", **more: Any) -> Utterance:
    return Utterance(
        event_id=f"{user}-{turn}",
        occurred_at=datetime.now(UTC),
        user_id=user,
        conversation_id=f"chat-of-{user}",
        turn=turn,
        text=text,
        **more,
    )


def lines(out: Outputs, user: str = "ann") -> tuple[CardLine, ...]:
    raw = out.newest(Card).get(user.encode())
    return () if raw is None else decode(Card, raw).lines


def values(out: Outputs, user: str = "ann") -> set[tuple[Stance, str]]:
    """What somebody likes and does not like."""
    return {(line.stance, line.value) for line in lines(out, user)}


def is_told(out: Outputs, word: str) -> bool:
    return any(word in value for _, value in values(out))


def assert_the_log_folds_to_the_card(out: Outputs) -> None:
    left = [decode(CardDiff, raw) for raw in out.newest(CardDiff).values() if raw is not None]
    folded = fold_cards(sorted(left, key=lambda diff: diff.version))
    assert {user.encode(): encode(card) for user, card in folded.items()} == {
        key: raw for key, raw in out.newest(Card).items() if raw is not None
    }


@pytest.mark.thorough
def test_a_conversation_reaches_card_and_skill_and_can_be_retracted(harness: Harness) -> None:
    harness.worker(listen_silence_seconds=600)
    harness.events.rank("ann", "films", SHOWN, seconds=60)
    for turn in (
        said("ann", 0, "What shall I watch?"),
        said("ann", 1, "Shall it be horror? You love horror!", role="assistant"),
        said("ann", 2, "I can't stand horror.", domain="films"),
        said("ann", 3, "I love hiking. My mother loves opera."),
        said("ann", 4, ends=True),
    ):
        harness.send(turn)

    harness.until(lambda out: is_told(out, "horror") and is_told(out, "hiking"), "a card")
    harness.until(
        lambda out: any(
            [each.statement_id for each in decode(PolicySkill, raw).stated] == ["avoids:preference:genre:horror"]
            for raw in out.newest(PolicySkill).values()
        ),
        "a skill that says so",
    )
    out = harness.quiet()
    assert len(out.values(CardDiff)) == 1, "one chunk, one version"
    assert len(out.values(Correction)) == 1
    assert not is_told(out, "opera"), "that is her mother's"
    assert_the_log_folds_to_the_card(out)
    waiting = decode(PendingConversations, out.newest(PendingConversations)[b"ann"])
    assert waiting.chunks == ()

    [line] = [line for line in lines(out) if "hiking" in line.value]
    harness.send(
        CardCommand(
            event_id="away",
            occurred_at=datetime.now(UTC),
            user_id="ann",
            action=CardAction.REMOVE,
            line_id=line.line_id,
            actor="ann",
        )
    )
    harness.until(lambda out: not is_told(out, "hiking"), "the line to go")
    out = harness.quiet()
    assert_the_log_folds_to_the_card(out)
    for model in (Card, CardDiff, PendingConversations, Receipt):
        assert all(b"hiking" not in (raw or b"") for raw in out.newest(model).values()), model
    assert out.dead_letters == []
