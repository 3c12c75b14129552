"""Conversations of a few people of the analysts' world: their cards and logs, made as a worker makes them."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from operators.cards.fold import apply_diff
from operators.cards.merge import merge_extraction
from operators.language.ports import Effect, Extraction, PreferenceFinding
from schemas import FREE, Card, CardDiff, Provenance, Stance
from streams.policies import DEFAULT_PRIVACY

_BY_A_MODEL = Provenance(
    reasoner="llm", model="small-model", prompt="listen.v1", prompt_hash="hash-of-listen.v1", prompt_tokens=780,
    completion_tokens=64, calls=1, latency_ms=1_300,
)  # fmt: skip
_CHATS: tuple[tuple[int, int, tuple[tuple[str, str, str | None, str, Effect], ...]], ...] = (
    (0, 2, (
        ("I'm vegetarian", "vegetarian", None, FREE, Effect.STATES),
        ("I love long train journeys", "long train journeys", None, FREE, Effect.STATES),
    )),
    (0, 9, (("I love horror", "horror", "films", "genre", Effect.STATES),)),
    (0, 23, (("I can't stand horror any more", "horror", "films", "genre", Effect.STATES),)),
    (1, 4, (
        ("I enjoy comedy", "comedy", "films", "genre", Effect.STATES),
        ("I was told I have diabetes", "having diabetes", None, FREE, Effect.STATES),
    )),
    (1, 12, (("as I said, I'm vegetarian", "vegetarian", None, FREE, Effect.STATES),)),
    (2, 6, (
        ("I like quiet mornings", "quiet mornings", None, FREE, Effect.STATES),
        ("I love horror", "horror", "films", "genre", Effect.STATES),
    )),
    (2, 19, (("forget that I like quiet mornings", "quiet mornings", None, FREE, Effect.FORGETS),)),
)  # fmt: skip
"""Who talks on which day, and what is found in it: words, value, domain, dimension, effect."""


def talks(users: Sequence[str], monday: datetime) -> Iterator[tuple[CardDiff, Card]]:
    """The versions of their cards in the order in which they came."""
    cards: dict[str, Card] = {}
    for number, day, found in sorted(_CHATS, key=lambda chat: chat[1]):
        user, at = users[number], monday + timedelta(days=day, hours=18)
        name = f"chat-{user}-{day:02}"
        findings = tuple(
            PreferenceFinding(
                stance=Stance.AVOIDS if "can't stand" in words else Stance.PREFERS, value=value, words=words,
                event_id=f"turn-{name}-{place}", stated_at=at, dimension=dimension, domain=domain, effect=effect,
            )
            for place, (words, value, domain, dimension, effect) in enumerate(found)
        )  # fmt: skip
        others = 1 if number == 1 else 0
        heard = Extraction(findings, others, _BY_A_MODEL if number else Provenance())
        diff = merge_extraction(cards.get(user), user, heard, f"heard-{name}", at, name, None, DEFAULT_PRIVACY)
        assert diff is not None
        cards[user] = apply_diff(cards.get(user), diff)
        yield diff, cards[user]
