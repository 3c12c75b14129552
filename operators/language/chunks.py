"""Chunks of conversations: how they grow, close and lose erased content."""

import re
from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

from operators.cards.lines import Words, all_words, has_word, words_of
from operators.tokens import count_tokens
from schemas import Chunk, Listening, Role, Thought, Turn, Utterance, derived_id
from schemas.cards import MAX_OPEN

CONTEXT_CHARS = 2_000
"""Of what others say only the end is kept: it is what the person answers to."""
CHUNK_CHARS = 64_000
"""More than any real thousand tokens; a hostile text of few tokens is not to fill the table."""
_SENTENCE: Final = re.compile(r"[^.!?\n\u2026\u3002]+[.!?\u2026\u3002]*[ \t]*|[.!?\n\u2026\u3002]+")


class Closed(StrEnum):
    """Why no more turns are waited for; a metric's label."""

    TOKENS = "tokens"
    SILENCE = "silence"
    ENDS = "ends"
    FULL = "full"
    """There is no room for more: of turns, of characters, or of conversations."""


def chunk_id(user_id: str, chunk: Chunk) -> str:
    """The id of what a chunk leads to: the same turns of the same conversation give the same."""
    return derived_id("chunk", user_id, chunk.conversation_id, *(turn.event_id for turn in chunk.turns))


def first_closed(listening: Listening | None) -> Chunk | None:
    """The chunk that is to be thought over next."""
    return next((each for each in listening.chunks if each.is_closed), None) if listening is not None else None


def has_own_words(chunk: Chunk) -> bool:
    """Whether the person says anything in it: nobody is asked about the others' words."""
    return any(turn.role is Role.USER for turn in chunk.turns)


def without(listening: Listening, chunk: Chunk) -> Listening:
    """What waits once a chunk is done with."""
    return listening.model_copy(update={"chunks": tuple(each for each in listening.chunks if each != chunk)})


def with_thought(listening: Listening, chunk: Chunk, thought: Thought) -> tuple[Listening, Chunk]:
    """What waits with what a chunk leads to written down, and that chunk."""
    newer = chunk.model_copy(update={"thought": thought})
    chunks = tuple(newer if each == chunk else each for each in listening.chunks)
    return listening.model_copy(update={"chunks": chunks}), newer


def said_again(user_id: str, chunk: Chunk) -> tuple[Utterance, ...]:
    """A chunk as utterances that can be heard anew, for those who are given it because nobody could understand it."""
    told = [turn for turn in chunk.turns if turn.text.strip()]
    last = len(told) - 1
    return tuple(
        Utterance(
            event_id=derived_id("again", turn.event_id),
            occurred_at=turn.said_at,
            user_id=user_id,
            conversation_id=chunk.conversation_id,
            turn=turn.turn,
            role=turn.role,
            text=turn.text,
            language=turn.language,
            domain=turn.domain,
            ranking_id=turn.ranking_id,
            ends=place == last,
        )
        for place, turn in enumerate(told)
    )


def turn_of(utterance: Utterance, text: str, heard_at: datetime | None = None) -> Turn:
    """A turn as it waits: of what others say only the end.

    Nothing was said after Kafka had it (`heard_at`): what an app's clock dates ahead would outlive a wish to forget.
    """
    own = utterance.role is Role.USER
    return Turn(
        event_id=utterance.event_id,
        turn=utterance.turn,
        role=utterance.role,
        text=text if own else text.rstrip()[-CONTEXT_CHARS:],
        language=utterance.language,
        domain=utterance.domain,
        ranking_id=utterance.ranking_id,
        said_at=utterance.occurred_at if heard_at is None else min(utterance.occurred_at, heard_at),
    )


def with_turn(chunk: Chunk, turn: Turn, heard_ms: int) -> Chunk:
    """The chunk with a turn in its place; of two with one number the one that came first is first."""
    turns = sorted((*chunk.turns, turn), key=lambda each: each.turn)
    tokens = chunk.tokens + count_tokens(turn.text)
    return chunk.model_copy(update={"turns": tuple(turns), "tokens": tokens, "heard_ms": max(chunk.heard_ms, heard_ms)})


def closed_now(chunk: Chunk) -> Chunk:
    """The chunk, for which no more turns are waited."""
    return chunk.model_copy(update={"is_closed": True})


def place_of(chunks: Sequence[Chunk], conversation_id: str) -> int | None:
    """Where the open chunk of a conversation stands; None: it has none."""
    return next(
        (at for at, each in enumerate(chunks) if each.conversation_id == conversation_id and not each.is_closed), None
    )


def make_room(chunks: list[Chunk]) -> list[Closed]:
    """Close the conversation that was silent longest, where as many are open as may be."""
    waiting = [at for at, each in enumerate(chunks) if not each.is_closed]
    if len(waiting) < MAX_OPEN:
        return []
    oldest = min(waiting, key=lambda at: chunks[at].heard_ms)
    chunks[oldest] = closed_now(chunks[oldest])
    return [Closed.FULL]


def unsaid(
    listening: Listening, values: Collection[str], until: datetime | None = None, but: Chunk | None = None
) -> Listening:
    """What waits, without the sentences that have all the words of what is forgotten. It leans to forgetting.

    What was said after `until` stays, and so do the chunk `but` and what was thought over.
    """
    gone = [(words, value.casefold()) for value in values if (words := words_of(value))]
    if not gone:
        return listening
    chunks = [
        each if each == but or each.thought is not None else _chunk(each, gone, until) for each in listening.chunks
    ]
    return listening.model_copy(update={"chunks": tuple(each for each in chunks if each.turns)})


def _chunk(chunk: Chunk, gone: Collection[tuple[Words, str]], until: datetime | None) -> Chunk:
    turns = tuple(turn if until is not None and turn.said_at > until else _turn(turn, gone) for turn in chunk.turns)
    if turns == chunk.turns:
        return chunk
    less = sum(
        count_tokens(before.text) - count_tokens(after.text)
        for before, after in zip(chunk.turns, turns, strict=True)
        if before is not after
    )
    kept = tuple(turn for turn in turns if turn.text.strip())
    return chunk.model_copy(update={"turns": kept, "tokens": max(chunk.tokens - less, 0)})


def _turn(turn: Turn, gone: Collection[tuple[Words, str]]) -> Turn:
    told = _told(turn.text, gone)
    if not told:
        return turn
    kept = (said for said in _SENTENCE.findall(turn.text) if not _told(said, told))
    return turn.model_copy(update={"text": "".join(kept).strip()})


def _told(text: str, gone: Collection[tuple[Words, str]]) -> list[tuple[Words, str]]:
    """What of it a text tells."""
    words, folded = all_words(text), text.casefold()
    # In other alphabets words may stand without spaces between them.
    return [
        each
        for each in gone
        if all(has_word(words, word) for word in each[0]) or (not each[1].isascii() and each[1] in folded)
    ]
