"""`kill -9` while chunks of conversations wait: the cards are as without it, and every version is there once."""

from datetime import UTC, datetime
from typing import Any

import pytest

from operators.cards.fold import fold_cards
from schemas import Card, CardDiff, CardLine, PendingConversations, Utterance, decode, encode
from streams.settings import Store
from tests.conftest import APACHE
from tests.harness import Harness, Outputs

pytestmark = [pytest.mark.on("kafka"), pytest.mark.broker, pytest.mark.timeout(600)]

STORE = Store.ROCKSDB if APACHE else Store.MEMORY
TEXTS = ("I love hiking.", "I can't stand rain.", "I love green tea.")
PEOPLE = tuple(f"person-{number}" for number in range(6))


def said(user: str, turn: int, text: str) -> Utterance:
    """A turn of somebody's only conversation, at the same time for all of them."""
    return Utterance(
        event_id=f"{user}-{turn}",
        occurred_at=datetime(2026, 1, 1, 12, 0, turn, tzinfo=UTC),
        user_id=user,
        conversation_id="chat",
        turn=turn,
        text=text,
    )


def content(line: CardLine) -> dict[str, Any]:
    """A line without what names its person's events, and without the version that brought it."""
    return line.model_dump(exclude={"evidence", "version"})


def cards(out: Outputs) -> dict[str, Card]:
    """As compaction leaves them."""
    found = (decode(Card, raw) for raw in out.newest(Card).values() if raw is not None)
    return {card.user_id: card for card in found}


def waits(out: Outputs, user: str) -> int:
    """How many of somebody's turns wait."""
    raw = out.newest(PendingConversations).get(user.encode())
    return 0 if raw is None else sum(len(chunk.turns) for chunk in decode(PendingConversations, raw).chunks)


def test_kill_9_while_chunks_wait(harness: Harness) -> None:
    """Once while all wait, once while they are thought over; those who spoke to the last worker had no kill at all."""
    patient = {"store": STORE, "listen_silence_seconds": 600.0}
    worker = harness.worker(**patient)
    early, late = PEOPLE[:4], PEOPLE[4:]
    for user in early:
        for turn, text in enumerate(TEXTS[:2]):
            harness.send(said(user, turn, text))
    harness.until(lambda out: all(waits(out, user) == 2 for user in early), "chunks that wait")
    harness.kill(worker)

    # What was said while nobody worked belongs to the same chunk.
    for user in early:
        harness.send(said(user, 2, TEXTS[2]))
    worker = harness.worker(**patient)
    harness.until(lambda out: all(waits(out, user) == len(TEXTS) for user in early), "the chunks, and more in them")
    harness.kill(worker)

    worker = harness.worker(store=STORE, listen_silence_seconds=1.0)
    harness.until(lambda out: bool(cards(out)), "a first card")
    harness.kill(worker)
    harness.worker(store=STORE, listen_silence_seconds=1.0)
    for user in late:
        for turn, text in enumerate(TEXTS):
            harness.send(said(user, turn, text))
    spoken = len(TEXTS)
    harness.until(
        lambda out: (
            all(len(cards(out)[user].lines) == spoken for user in PEOPLE if user in cards(out))
            and len(cards(out)) == len(PEOPLE)
        ),
        "all cards",
    )
    out = harness.quiet()

    found = cards(out)
    wanted = sorted(map(str, map(content, found[late[0]].lines)))
    for user in PEOPLE:
        assert sorted(map(str, map(content, found[user].lines))) == wanted
        assert waits(out, user) == 0
    seen: dict[tuple[str, int], CardDiff] = {}
    for diff in out.values(CardDiff):
        assert (diff.user_id, diff.version) not in seen, "a version twice in the log"
        seen[diff.user_id, diff.version] = diff
    assert {user: encode(card) for user, card in fold_cards(seen.values()).items()} == {
        user: encode(card) for user, card in found.items()
    }
    assert out.dead_letters == []
