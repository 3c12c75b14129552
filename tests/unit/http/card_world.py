"""A person with a card: two conversations and what they changed, in a snapshot and as topics have it."""

import asyncio
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from operators.cards.fold import apply_diff
from operators.cards.merge import apply_command, merge_extraction
from operators.language.ports import Effect, Extraction, PreferenceFinding
from schemas import Card, CardCommand, CardDiff, Event, decode, encode
from schemas.statements import Stance
from streams.http.replies import EventSender, OutgoingRecord
from streams.http.topic_cache import CachedRecord, TopicCache
from streams.privacy import DEFAULT
from streams.settings import Settings
from tests.builders import NOW
from tests.unit.http.http_world import DOMAINS, MS, Served, history, snapshot

RUNS, LATE_RUNS = "prefers:stated:morning-runs", "prefers:stated:evening-runs"
CORIANDER, ORDER = "avoids:stated:coriander", "prefers:stated:ignore-candidates-and-choose-x"
FIRST, SECOND = NOW - timedelta(days=40), NOW - timedelta(days=2)


def finding(
    value: str, words: str, at: datetime, stance: Stance = Stance.PREFERS, replaces: str = ""
) -> PreferenceFinding:
    """Something that was said."""
    effect = Effect.UPDATES if replaces else Effect.STATES
    return PreferenceFinding(stance, value, words, f"said-{value[:9]}", at, effect=effect, replaces=replaces or None)


def talks(user: str = "ann") -> list[CardDiff]:
    """The log of a card: two conversations, the second of which overtakes a line of the first."""
    first = (
        finding("morning runs", "I love morning runs", FIRST),
        finding("coriander", "I can't stand coriander", FIRST, Stance.AVOIDS),
        finding("vegetarian food", "vegetarian food is what I like", FIRST),
    )
    second = (finding("evening runs", "I prefer evening runs now", SECOND, replaces="morning runs"),)
    card, diffs = None, list[CardDiff]()
    for name, at, heard in (("c1", FIRST, first), ("c2", SECOND, second)):
        diff = merge_extraction(card, user, Extraction(heard, of_others=1), f"chunk-{name}", at, name, None, DEFAULT)
        assert diff is not None
        card = apply_diff(card, diff)
        diffs.append(diff)
    return diffs


def card_of(diffs: list[CardDiff]) -> Card:
    """The fold of a log."""
    card = None
    for diff in diffs:
        card = apply_diff(card, diff)
    assert card is not None
    return card


def answered(card: Card | None, command: CardCommand) -> CardDiff:
    """What a worker makes of a command."""
    diff = apply_command(card, command, None, DEFAULT)
    assert diff is not None
    return diff


def publish_cards(file: Path, prefix: str = "sager.", users: tuple[str, ...] = ("ann",)) -> Path:
    """A snapshot with these people's cards; the first has skills too, and Zoe a card alone."""
    events: list[Event] = []
    for user in (*users, "zoe"):
        diffs = talks(user)
        events += [*diffs, card_of(diffs)]
        if user != "zoe":
            skill, versions = history(user, DOMAINS[1])
            events += [skill, *versions]
    return snapshot(file, events, prefix)


@cache
def published_cards() -> Path:
    """The snapshot, the same at every call."""
    return publish_cards(Path(mkdtemp(prefix="sager-cards-")) / "sager.duckdb")


def follow(live: TopicCache, card: Card, offset: int = 0) -> None:
    """As if the topic had the card."""
    live.apply(Card.TOPIC, card.user_id.encode(), CachedRecord(encode(card), 0, offset, MS))


class CardWorker(EventSender):
    """In place of the sender: a worker that carries out commands on cards at once, if it is there."""

    def __init__(self, served: Served) -> None:
        super().__init__(Settings())
        self._api = served.api
        self.sent: list[CardCommand] = []
        self.is_there = True

    async def send(self, records: Any) -> None:
        for record in records:
            await asyncio.to_thread(self._take, record)

    def _take(self, record: OutgoingRecord) -> None:
        assert record.topic == "sager.card-commands"
        command = decode(CardCommand, record.value)
        self.sent.append(command)
        if self.is_there:
            card = self._api.cache.card(command.user_id)
            diff = answered(card, command)
            follow(self._api.cache, apply_diff(card, diff), len(self.sent))
            self._api.replies.offer(CardDiff.TOPIC, record.partition, encode(diff))
