"""Chunks of conversations: growth, closing, erasure, and derived events."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import Final

from operators.attributes import fact_id
from operators.language.ports import Effect, PreferenceFinding
from operators.language.words import WordSet, all_words, has_word, plain_words
from operators.tokens import count_tokens
from schemas import FREE, MAX_OPEN, Chunk, Fact, ForgetRequest, PendingConversations, Turn, derived_id, line_digest
from schemas.statements import Correction, Directive, Speaker, Stance, Utterance, is_answer_style

# Keep only the end of other speakers' turns, because the user answers to it.
CONTEXT_CHARS = 2_000
# Bounds the table against hostile texts with few tokens.
CHUNK_CHARS = 64_000
_SENTENCE: Final = re.compile(r"[^.!?\n\u2026\u3002]+[.!?\u2026\u3002]*[ \t]*|[.!?\n\u2026\u3002]+")


class CloseReason(StrEnum):
    """Why a chunk was closed; a metric's label."""

    TOKENS = "tokens"
    SILENCE = "silence"
    ENDS = "ends"
    # The limit of turns, characters or conversations.
    FULL = "full"


def chunk_id(user_id: str, chunk: Chunk) -> str:
    """Return the id prefix of a chunk's events, derived from its turns."""
    return derived_id("chunk", user_id, chunk.conversation_id, *(turn.event_id for turn in chunk.turns))


def first_closed(listening: PendingConversations | None) -> Chunk | None:
    """Return the next chunk to read."""
    return next((each for each in listening.chunks if each.is_closed), None) if listening is not None else None


def has_user_turn(chunk: Chunk) -> bool:
    """Return True if the user takes a turn in it."""
    return any(turn.role is Speaker.USER for turn in chunk.turns)


def replace_chunk(listening: PendingConversations, chunk: Chunk, *newer: Chunk) -> PendingConversations:
    """Replace a chunk by a newer one, or remove it."""
    name = chunk_id(listening.user_id, chunk)
    chunks = [newer if chunk_id(listening.user_id, each) == name else (each,) for each in listening.chunks]
    return listening.model_copy(update={"chunks": tuple(chain.from_iterable(chunks))})


def replayable_utterances(user_id: str, chunk: Chunk) -> tuple[Utterance, ...]:
    """Return a chunk as utterances that a replay can send again."""
    spoken = [turn for turn in chunk.turns if turn.text.strip()]
    last = len(spoken) - 1
    return tuple(
        Utterance(
            event_id=derived_id("again", turn.event_id),
            occurred_at=turn.stated_at,
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
        for place, turn in enumerate(spoken)
    )


def waiting_turn(utterance: Utterance, text: str, logged_at: datetime | None = None) -> Turn:
    """Return an utterance as a waiting turn, dated by Kafka at most.

    A turn that an app's clock dates ahead would outlive a request to forget.
    """
    own = utterance.role is Speaker.USER
    return Turn(
        event_id=utterance.event_id,
        turn=utterance.turn,
        role=utterance.role,
        text=text if own else text.rstrip()[-CONTEXT_CHARS:],
        language=utterance.language,
        domain=utterance.domain,
        ranking_id=utterance.ranking_id,
        stated_at=utterance.occurred_at if logged_at is None else min(utterance.occurred_at, logged_at),
    )


def with_turn(chunk: Chunk, turn: Turn, logged_ms: int) -> Chunk:
    """Insert a turn by its number."""
    turns = sorted((*chunk.turns, turn), key=lambda each: each.turn)
    tokens = chunk.tokens + count_tokens(turn.text)
    return chunk.model_copy(
        update={"turns": tuple(turns), "tokens": tokens, "last_turn_ms": max(chunk.last_turn_ms, logged_ms)}
    )


def close_chunk(chunk: Chunk) -> Chunk:
    """Close a chunk."""
    return chunk.model_copy(update={"is_closed": True})


def open_chunk_index(chunks: Sequence[Chunk], conversation_id: str) -> int | None:
    """Return the index of a conversation's open chunk."""
    return next(
        (at for at, each in enumerate(chunks) if each.conversation_id == conversation_id and not each.is_closed), None
    )


def close_oldest(chunks: list[Chunk]) -> list[CloseReason]:
    """Close the longest silent conversation if too many are open."""
    waiting = [at for at, each in enumerate(chunks) if not each.is_closed]
    if len(waiting) < MAX_OPEN:
        return []
    oldest = min(waiting, key=lambda at: chunks[at].last_turn_ms)
    chunks[oldest] = close_chunk(chunks[oldest])
    return [CloseReason.FULL]


def scrub_pending(
    listening: PendingConversations, values: Collection[str], until: datetime | None = None, but: Chunk | None = None
) -> PendingConversations:
    """Erase the waiting sentences that contain all words of a forgotten value.

    Turns after `until`, one excepted chunk and chunks with a result stay.
    """
    erased = [(words, value.casefold()) for value in values if (words := plain_words(value))]
    if not erased:
        return listening

    def scrub(chunk: Chunk) -> Chunk:
        if chunk == but or chunk.effects is not None:
            return chunk
        turns = [turn if until is not None and turn.stated_at > until else _turn(turn, erased) for turn in chunk.turns]
        changed = [(old, new) for old, new in zip(chunk.turns, turns, strict=True) if old != new]
        if not changed:
            return chunk
        removed = sum(count_tokens(old.text) - count_tokens(new.text) for old, new in changed)
        kept = tuple(turn for turn in turns if turn.text.strip())
        return chunk.model_copy(update={"turns": kept, "tokens": max(chunk.tokens - removed, 0)})

    return listening.model_copy(update={"chunks": tuple(each for each in map(scrub, listening.chunks) if each.turns)})


def _turn(turn: Turn, erased: Collection[tuple[WordSet, str]]) -> Turn:
    named = _named(turn.text, erased)
    if not named:
        return turn
    kept = (sentence for sentence in _SENTENCE.findall(turn.text) if not _named(sentence, named))
    return turn.model_copy(update={"text": "".join(kept).strip()})


def _named(text: str, erased: Collection[tuple[WordSet, str]]) -> list[tuple[WordSet, str]]:
    words, folded = all_words(text), text.casefold()
    # Some scripts write words without spaces.
    return [
        each
        for each in erased
        if all(has_word(words, word) for word in each[0]) or (not each[1].isascii() and each[1] in folded)
    ]


ACTOR = "the person, in a conversation"


def derived_corrections(
    user_id: str,
    name: str,
    chunk: Chunk,
    findings: Sequence[PreferenceFinding],
    vocabulary: Callable[[str], Sequence[Fact]],
) -> tuple[Correction, ...]:
    """Return a correction for each lasting finding about a known fact."""
    found = []
    findings = _with_domains(findings, chunk)
    for place, finding in enumerate(findings):
        is_over = any(_leaves_skill(later) and _about(later) == _about(finding) for later in findings[place:])
        if is_over or finding.domain is None or finding.dimension == FREE:
            continue
        wish = Fact(dimension=finding.dimension, value=finding.value)
        known = [wish] if is_answer_style(wish.dimension, wish.value) else vocabulary(finding.domain)
        if (fact := next((each for each in known if fact_id(each) == fact_id(wish)), None)) is None:
            continue
        turn = next((turn for turn in chunk.turns if turn.event_id == finding.event_id), None)
        withdrawn = finding.effect is Effect.WITHDRAWS
        # `instead` prefers this value; the other need not be in a vocabulary.
        is_against = finding.stance is Stance.AVOIDS
        directive = Directive(
            stance=Stance.AVOIDS if is_against is not withdrawn else Stance.PREFERS,
            dimension=fact.dimension,
            value=fact.value,
            changed=withdrawn or finding.effect is Effect.UPDATES,
        )
        found.append(
            Correction(
                event_id=derived_id("says", name, str(place)),
                occurred_at=finding.stated_at,
                user_id=user_id,
                domain=finding.domain,
                text=finding.words,
                directives=(directive,),
                scope=finding.scope,
                ranking_id=None if turn is None else turn.ranking_id,
            )
        )
    return tuple(found)


def derived_forget_requests(
    user_id: str, name: str, chunk: Chunk, findings: Sequence[PreferenceFinding]
) -> tuple[ForgetRequest, ...]:
    """Return one request for each skill line that the findings end."""
    found: dict[str, ForgetRequest] = {}
    for finding in _with_domains(findings, chunk):
        if not _leaves_skill(finding) or finding.domain is None or finding.dimension == FREE:
            continue
        line = line_digest(user_id, finding.domain, _fact_id(finding))
        found[line] = ForgetRequest(
            event_id=derived_id("forgets", name, line),
            occurred_at=finding.stated_at,
            user_id=user_id,
            domain=finding.domain,
            line=line,
            actor=ACTOR,
        )
    return tuple(found.values())


def _leaves_skill(finding: PreferenceFinding) -> bool:
    # A wish about answers has no opposite that could withdraw it.
    is_ended = finding.effect is Effect.WITHDRAWS and is_answer_style(finding.dimension, finding.value)
    return is_ended or finding.effect is Effect.FORGETS


def _with_domains(findings: Sequence[PreferenceFinding], chunk: Chunk) -> list[PreferenceFinding]:
    # Wishes about answers hold in all domains of a card, and in the skill of the conversation's domain.
    domains = {turn.event_id: turn.domain for turn in chunk.turns}
    return [
        replace(each, domain=domains.get(each.event_id)) if is_answer_style(each.dimension, each.value) else each
        for each in findings
    ]


def _about(finding: PreferenceFinding) -> tuple[str | None, str]:
    return finding.domain, _fact_id(finding)


def _fact_id(finding: PreferenceFinding) -> str:
    return fact_id(Fact(dimension=finding.dimension, value=finding.value))
