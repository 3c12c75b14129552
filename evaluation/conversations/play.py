"""Plays a person's conversations in their order through the steps of the agent `listen`: the card and its log.

What the worker does with an utterance is done here in one process: redacted on arrival, gathered to chunks, understood
once a chunk, merged, folded, and what is forgotten goes from the log too.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from evaluation.conversations.layout import Person, Talk
from operators.cards.fold import fold
from operators.cards.redact import redacted
from operators.language.finding import Heard
from operators.steps.listen import Listen, State, erasures, first_closed, has_own_words, newer, without
from operators.tokens import count_tokens
from schemas import Fact, Position, Role, Utterance, derived_id
from schemas.cards import Card, CardDiff, CardLine, Turn
from streams.language import RULES
from streams.privacy import DEFAULT as PRIVACY

Listener: TypeAlias = Callable[[Sequence[Turn], Card | None], Awaitable[Heard]]
"""Understands a chunk: by rules or by a model."""

BEGINNING: Final = datetime(2025, 1, 6, 9, tzinfo=UTC)
BETWEEN_TALKS: Final = timedelta(days=1)
BETWEEN_TURNS: Final = timedelta(seconds=40)


@dataclass
class Spent:
    """What listening took.

    Attributes:
        talks, chunks: conversations, and how often something was thought over.
        heard_tokens: of all turns, as they arrived.
        prompt_tokens, completion_tokens, calls: of a model.
        seconds: by the clock.
    """

    talks: int = 0
    chunks: int = 0
    heard_tokens: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    calls: int = 0
    seconds: float = 0.0


@dataclass
class Played:
    """A person after all their conversations.

    Attributes:
        card: None where nothing was ever learned.
        log: the diffs, without the words of what was forgotten.
        before: the lines that the card had before each talk.
        of_others: findings about somebody else, which are not kept.
    """

    person: Person
    card: Card | None = None
    log: list[CardDiff] = field(default_factory=list)
    before: list[tuple[CardLine, ...]] = field(default_factory=list)
    of_others: int = 0
    spent: Spent = field(default_factory=Spent)


async def by_rules(turns: Sequence[Turn], card: Card | None) -> Heard:
    """Understands a chunk without a model."""
    return RULES.extract(turns, card, no_vocabulary)


def no_vocabulary(domain: str) -> tuple[Fact, ...]:
    """The facts of a domain: none, the conversations have no items."""
    del domain
    return ()


class Play:
    """Plays persons.

    Args:
        listen: how chunks are understood.
        steps: the steps of the worker, with its settings.
    """

    def __init__(self, listen: Listener = by_rules, steps: Listen | None = None) -> None:
        self._listen = listen
        self._steps = steps or Listen(extractor=RULES, privacy=PRIVACY)

    async def play(self, person: Person) -> Played:
        """The person's card after all their conversations."""
        played, state = Played(person), State()
        offset = 0
        for place, talk in enumerate(person.talks):
            played.before.append(() if played.card is None else played.card.lines)
            began = time.perf_counter()
            for utterance in utterances(person.user_id, place, talk):
                played.spent.heard_tokens += count_tokens(utterance.text)
                moment = round(utterance.occurred_at.timestamp() * 1_000)
                source = Position(topic=Utterance.TOPIC, partition=0, offset=offset, timestamp_ms=moment)
                offset += 1
                state = State(self._steps.hear(state, utterance, source).listening or state.listening, played.card)
                state = await self._think(state, played)
            played.spent.talks += 1
            played.spent.seconds += time.perf_counter() - began
        return played

    async def _think(self, state: State, played: Played) -> State:
        """Think over all chunks that are closed."""
        while (chunk := first_closed(state.listening)) is not None and state.listening is not None:
            if chunk.turns and has_own_words(chunk):
                heard = await self._listen(chunk.turns, played.card)
                thought = self._steps.finish(state, chunk, heard, no_vocabulary)
                _spend(played, heard)
                if thought.diff is not None:
                    _append(played, thought.diff)
            state = State(without(state.listening, chunk), played.card)
        return state


def utterances(user_id: str, place: int, talk: Talk) -> list[Utterance]:
    """A talk as an app sends it: the turns, then its end."""
    conversation = f"{user_id}-{place}"
    begins = BEGINNING + place * BETWEEN_TALKS
    sent = [
        Utterance(
            event_id=derived_id("utterance", conversation, str(turn)),
            occurred_at=begins + turn * BETWEEN_TURNS,
            user_id=user_id,
            conversation_id=conversation,
            turn=turn,
            role=said.role,
            text=said.text,
        )
        for turn, said in enumerate(talk.turns)
    ]
    last = len(sent)
    ends = Utterance(
        event_id=derived_id("utterance", conversation, str(last)),
        occurred_at=begins + last * BETWEEN_TURNS,
        user_id=user_id,
        conversation_id=conversation,
        turn=last,
        role=Role.OTHER,
        ends=True,
    )
    return [*sent, ends]


def _spend(played: Played, heard: Heard) -> None:
    spent, by = played.spent, heard.reasoned_by
    played.of_others += heard.of_others
    spent.chunks += 1
    spent.calls += by.calls
    spent.prompt_tokens += by.prompt_tokens
    spent.completion_tokens += by.completion_tokens


def _append(played: Played, diff: CardDiff) -> None:
    """Append a diff to the log, sealed. If it erases lines, redact the log and fold the card again."""
    played.card = newer(played.card, diff)
    assert played.card.last_diff is not None  # noqa: S101 - for the type
    played.log.append(played.card.last_diff)
    gone = [change.line_id for change in erasures(diff)]
    if not gone:
        return
    for line_id in gone:
        played.log = redacted(played.log, line_id)
    played.card = fold(played.log)[diff.user_id]
