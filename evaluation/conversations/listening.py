"""Runs conversations through the agent `listen`, to a card and log.

As in the worker, turns are redacted on arrival, gathered to chunks, understood once per chunk, merged and folded, and
forgotten lines go from the log too.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from evaluation.conversations.layout import Person, Talk
from evaluation.replies import CachedClient
from evaluation.simulation import Turn, simulate
from operators.cards.fold import fold_cards, redact_card_log
from operators.evolve.proposals import ReasonerUnavailable
from operators.language.chunks import first_closed, has_user_turn, replace_chunk
from operators.language.extraction_llm import LlmExtractor, combine
from operators.language.ports import Extraction
from operators.steps.listen import ListenState, ListenStep, erasing_changes, with_sealed_diff
from operators.tokens import count_tokens
from schemas import Fact, Position, Speaker, Utterance, cards, derived_id
from schemas.cards import Card, CardDiff, CardLine
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY

# Understands a chunk: by rules or by a model.
Listener = Callable[[Sequence[cards.Turn], Card | None], Awaitable[Extraction]]
BEGINNING: Final = datetime(2025, 1, 6, 9, tzinfo=UTC)
BETWEEN_TALKS: Final = timedelta(days=1)
BETWEEN_TURNS: Final = timedelta(seconds=40)


class ReaderChoice(StrEnum):
    """The listener."""

    RULES = "rules"
    MODEL = "model"
    # A model, and rules whose findings count first; as the worker does with `SAGER_REASONER=llm`.
    BOTH = "both"


@dataclass
class Conversation:
    """A person after all their conversations, with the costs of listening.

    `card` is None if nothing was ever learned; `log` has the diffs, without the words of forgotten lines; `before` has
    the card's lines before each talk.
    """

    person: Person
    card: Card | None = None
    log: list[CardDiff] = field(default_factory=list)
    before: list[tuple[CardLine, ...]] = field(default_factory=list)
    chunks: int = 0
    heard_tokens: int = 0
    model_tokens: int = 0
    calls: int = 0
    seconds: float = 0.0


async def by_rules(turns: Sequence[cards.Turn], card: Card | None) -> Extraction:
    """Understand a chunk without a model."""
    return RULES.extract(turns, card, _no_vocabulary)


def _no_vocabulary(domain: str) -> tuple[Fact, ...]:
    """The facts of a domain: conversations have no items."""
    del domain
    return ()


class ModelListener:
    """Understands chunks with a model, or by rules if it fails; with `has_memory` the model sees the card."""

    def __init__(self, client: CachedClient, by: ReaderChoice, *, has_memory: bool = False) -> None:
        self._by = by
        self._listening = LlmExtractor(client, extractor=RULES, gate=OUTPUT_GATE, has_memory=has_memory)
        self.unusable = 0

    async def listen(self, turns: Sequence[cards.Turn], card: Card | None) -> Extraction:
        """The findings about the person in a chunk."""
        rules = await by_rules(turns, card)
        if self._by is ReaderChoice.RULES:
            return rules
        try:
            model = await self._listening.listen(turns, card, _no_vocabulary)
        except ReasonerUnavailable:
            self.unusable += 1
            return rules
        return model if self._by is ReaderChoice.MODEL else combine(rules, model)


class _Listening:
    """The agent `listen` as an arm: it answers with the card."""

    def __init__(self, played: Conversation, listen: Listener) -> None:
        self._played, self._listen = played, listen
        self._steps, self._state = ListenStep(extractor=RULES, privacy=PRIVACY), ListenState()
        self._offset = 0

    async def answer(self, turn: Turn[Talk]) -> tuple[CardLine, ...]:
        del turn
        return () if self._played.card is None else self._played.card.lines

    async def learn(self, turn: Turn[Talk], answer: object, reply: Sequence[Utterance]) -> None:
        del turn, answer
        played, began = self._played, time.perf_counter()
        for utterance in reply:
            played.heard_tokens += count_tokens(utterance.text)
            moment = round(utterance.occurred_at.timestamp() * 1_000)
            source = Position(topic=Utterance.TOPIC, partition=0, offset=self._offset, timestamp_ms=moment)
            self._offset += 1
            listening = self._steps.add_turn(self._state, utterance, source).listening or self._state.listening
            self._state = ListenState(listening, played.card)
            await self._think()
        played.seconds += time.perf_counter() - began

    async def _think(self) -> None:
        """Think over all chunks that are closed."""
        played = self._played
        while (listening := self._state.listening) is not None and (chunk := first_closed(listening)) is not None:
            if chunk.turns and has_user_turn(chunk):
                heard = await self._listen(chunk.turns, played.card)
                thought = self._steps.finish(self._state, chunk, heard, _no_vocabulary)
                played.chunks += 1
                played.calls += heard.reasoned_by.calls
                played.model_tokens += heard.reasoned_by.prompt_tokens + heard.reasoned_by.completion_tokens
                if thought.diff is not None:
                    _append(played, thought.diff)
            self._state = ListenState(replace_chunk(listening, chunk), played.card)


async def simulate_person(person: Person, listen: Listener = by_rules) -> Conversation:
    """The person's card after all their conversations."""
    played = Conversation(person)
    turns = [Turn(person.user_id, talk) for talk in person.talks]
    places = iter(range(len(turns)))

    def speak(turn: Turn[Talk], before: object) -> list[Utterance]:
        del before
        return utterances(person.user_id, next(places), turn.shown)

    def record(turn: Turn[Talk], before: tuple[CardLine, ...], spoken: object) -> None:
        del turn, spoken
        played.before.append(before)

    await simulate(turns, _Listening(played, listen), speak, record)
    return played


def utterances(user_id: str, place: int, talk: Talk) -> list[Utterance]:
    """A talk as an app sends it: the turns, then its end."""
    conversation, begins = f"{user_id}-{place}", BEGINNING + place * BETWEEN_TALKS

    def utterance(turn: int, role: Speaker, text: str = "", *, ends: bool = False) -> Utterance:
        return Utterance(
            event_id=derived_id("utterance", conversation, str(turn)),
            occurred_at=begins + turn * BETWEEN_TURNS,
            user_id=user_id,
            conversation_id=conversation,
            turn=turn,
            role=role,
            text=text,
            ends=ends,
        )

    spoken = [utterance(turn, said.role, said.text) for turn, said in enumerate(talk.turns)]
    return [*spoken, utterance(len(spoken), Speaker.OTHER, ends=True)]


def _append(played: Conversation, diff: CardDiff) -> None:
    """Append a sealed diff; redact the log if lines are erased."""
    played.card = with_sealed_diff(played.card, diff)
    assert played.card.last_diff is not None  # noqa: S101 - for the type
    played.log.append(played.card.last_diff)
    gone = [change.line_id for change in erasing_changes(diff)]
    for line_id in gone:
        played.log = redact_card_log(played.log, line_id)
    if gone:
        played.card = fold_cards(played.log)[diff.user_id]
