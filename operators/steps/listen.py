"""Steps of the agent `listen`: collect turns in chunks, update cards.

A chunk closes by length, by silence, or at the end of its conversation. It never changes afterwards, so a late answer
of the extractor is still right.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from operators.admission import TOLERANCE, is_applied, with_applied, with_recent
from operators.attributes import fact_id
from operators.cards.fold import apply_diff
from operators.cards.lines import line_id
from operators.cards.merge import apply_command, merge_extraction
from operators.erasure import card_line_digest, erased_digests, value_of_line, words_digest
from operators.language.chunks import (
    CHUNK_CHARS,
    CloseReason,
    chunk_id,
    close_chunk,
    close_oldest,
    derived_corrections,
    derived_forget_requests,
    open_chunk_index,
    waiting_turn,
    with_turn,
)
from operators.language.ports import Effect, Extraction, Extractor, PreferenceFinding
from operators.language.privacy import Privacy
from operators.language.words import plain_words
from operators.seals import seal_diff
from operators.stated import statement_id
from schemas import MAX_FINDINGS, MAX_PENDING, Card, CardChange, Fact, ForgetRequest, OptOut, Receipt, line_digest
from schemas.base import Position, Provenance, moment_of
from schemas.cards import CardChangeKind, CardCommand, CardDiff, Chunk, ChunkEffects, PendingConversations, Strength
from schemas.statements import Speaker, Utterance

ERASING_KINDS = (CardChangeKind.FORGOTTEN, CardChangeKind.REMOVED)


class ListenOutcome(StrEnum):
    """The outcome of an event; a metric's label."""

    COLLECTED = "collected"
    REPEATED = "repeated"
    FORGOTTEN = "forgotten"
    NOT_REMEMBERED = "not-remembered"
    COMMANDED = "commanded"
    # A command without an effect.
    NOTHING = "nothing"


@dataclass(frozen=True)
class ListenState:
    """The state of a person."""

    listening: PendingConversations | None = None
    card: Card | None = None
    receipt: Receipt | None = None


@dataclass(frozen=True)
class ListenEffects:
    """The effects of an utterance."""

    outcome: ListenOutcome
    listening: PendingConversations | None = None
    closed: tuple[CloseReason, ...] = ()
    found: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class ListenStep:
    """Limits and readers of conversations; a turn or a silence closes chunks."""

    tokens: int = 1_000
    silence_ms: int = 300_000
    privacy: Privacy = field(kw_only=True)
    extractor: Extractor = field(kw_only=True)

    def add_turn(self, state: ListenState, utterance: Utterance, source: Position) -> ListenEffects:
        """Add a turn to its chunk; close chunks that fell silent before."""
        if state.receipt is not None and state.receipt.covers(utterance.domain, utterance.occurred_at, source.moment):
            return ListenEffects(ListenOutcome.FORGOTTEN)
        listening = state.listening or PendingConversations(user_id=utterance.user_id)
        if is_applied(listening.applied, source) or utterance.event_id in listening.recent:
            return ListenEffects(ListenOutcome.REPEATED)
        chunks, closed = self._silent(listening.chunks, source.timestamp_ms)
        unsaid = utterance.role is Speaker.USER and self.privacy.opt_out(utterance.text) is OptOut.NOT_REMEMBERED
        text = forget_requests(utterance, self.extractor) if unsaid else utterance.text
        place = open_chunk_index(chunks, utterance.conversation_id)
        found: Mapping[str, int] = {}
        if text.strip():
            earlier = [each for each in (() if place is None else chunks[place].turns) if each.turn <= utterance.turn]
            before = earlier[-1].text if earlier else ""
            redacted = self.privacy.turn(text, utterance.domain, before)
            found = redacted.found
            turn = waiting_turn(utterance, redacted.text, source.moment if source.timestamp_ms else None)
            if place is None:
                closed += close_oldest(chunks)
                chunks.append(Chunk(conversation_id=utterance.conversation_id))
                place = len(chunks) - 1
            chunks[place] = with_turn(chunks[place], turn, source.timestamp_ms)
        if place is not None and (why := self._is_full(chunks[place], utterance)) is not None:
            chunks[place] = close_chunk(chunks[place])
            closed.append(why)
        newer = listening.model_copy(
            update={
                "chunks": tuple(chunks),
                "recent": with_recent(listening.recent, utterance.event_id, MAX_PENDING),
                "applied": with_applied(listening.applied, source, utterance.occurred_at),
            }
        )
        return ListenEffects(
            ListenOutcome.NOT_REMEMBERED if unsaid else ListenOutcome.COLLECTED, newer, tuple(closed), found
        )

    def after_silence(self, listening: PendingConversations, now_ms: int) -> ListenEffects | None:
        """Close silent chunks; None if there is none."""
        chunks, closed = self._silent(listening.chunks, now_ms)
        if not closed:
            return None
        return ListenEffects(
            ListenOutcome.COLLECTED, listening.model_copy(update={"chunks": tuple(chunks)}), tuple(closed)
        )

    def due_ms(self, listening: PendingConversations) -> int | None:
        """Return when the next chunk is due, by Kafka's clock, if any."""
        return min(
            (0 if each.is_closed else each.last_turn_ms + self.silence_ms for each in listening.chunks), default=None
        )

    def finish(
        self, state: ListenState, chunk: Chunk, extraction: Extraction, vocabulary: Callable[[str], Sequence[Fact]]
    ) -> ChunkEffects:
        """Return the result of a chunk, by its findings."""
        if state.listening is None:
            raise ValueError("nothing waits")
        user_id = state.listening.user_id
        name, at = chunk_id(user_id, chunk), max(turn.stated_at for turn in chunk.turns)
        findings = tuple(each for each in extraction.findings[:MAX_FINDINGS] if not _is_erased(each, state, user_id))
        kept = replace(extraction, findings=findings)
        source = max(state.listening.applied, key=lambda held: held.timestamp_ms, default=None)
        texts = [turn.text for turn in chunk.turns if turn.role is Speaker.USER]
        removed = Counter(kind for text in texts for kind in self.privacy.placeholders(text))
        until = max((scope.until for scope in state.receipt.lines.values()), default=None) if state.receipt else None
        diff = merge_extraction(
            state.card, user_id, kept, name, at, chunk.conversation_id, source, self.privacy, removed, until
        )
        gone = [each for each in findings if each.effect is Effect.FORGETS]
        erased = [*erased_lines(state.card, diff).items()]
        erased += [(line_id(each.stance, each.dimension, each.value, each.domain), each.value) for each in gone]
        return ChunkEffects(
            diff=diff,
            corrections=derived_corrections(user_id, name, chunk, findings, vocabulary),
            forgets=derived_forget_requests(user_id, name, chunk, findings),
            lines=tuple(dict.fromkeys(name for each in erased for name in erased_digests(user_id, *each))),
        )

    def erased_values(self, state: ListenState, extraction: Extraction, thought: ChunkEffects) -> tuple[str, ...]:
        """Return the values that a chunk erases from card or by wish."""
        wishes = (each.value for each in extraction.findings[:MAX_FINDINGS] if each.effect is Effect.FORGETS)
        lines = (value_of_line(*each) for each in erased_lines(state.card, thought.diff).items())
        return tuple(dict.fromkeys((*wishes, *lines)))

    def command(
        self, state: ListenState, command: CardCommand, source: Position
    ) -> tuple[ListenOutcome, CardDiff | None]:
        """Return the outcome and the diff of a command."""
        domain = None if command.line is None else command.line.domain
        if state.receipt is not None and state.receipt.covers(domain, command.occurred_at, source.moment):
            return ListenOutcome.FORGOTTEN, None
        card = state.card
        if card is not None and (command.event_id in card.recent or is_applied(card.applied, source)):
            return ListenOutcome.REPEATED, None
        diff = apply_command(card, command, source, self.privacy)
        return (ListenOutcome.NOTHING if diff is None else ListenOutcome.COMMANDED), diff

    def _is_full(self, chunk: Chunk, utterance: Utterance) -> CloseReason | None:
        # A turn of another speaker closes none: the person's answer belongs to it.
        if utterance.ends:
            return CloseReason.ENDS
        if utterance.role is Speaker.USER and chunk.tokens >= self.tokens:
            return CloseReason.TOKENS
        is_long = sum(len(turn.text) for turn in chunk.turns) >= CHUNK_CHARS
        return CloseReason.FULL if is_long or len(chunk.turns) >= MAX_PENDING else None

    def _silent(self, held: Sequence[Chunk], now_ms: int) -> tuple[list[Chunk], list[CloseReason]]:
        chunks, closed = list(held), []
        for place, chunk in enumerate(chunks):
            if not chunk.is_closed and chunk.last_turn_ms + self.silence_ms <= now_ms:
                chunks[place] = close_chunk(chunk)
                closed.append(CloseReason.SILENCE)
        return chunks, closed


def forget_requests(utterance: Utterance, extractor: Extractor) -> str:
    """Return the wishes to forget of an opted-out turn.

    "Don't remember that I like jazz" is about jazz, which the card may have.
    """
    turn = waiting_turn(utterance, utterance.text)
    findings = extractor.extract([turn], None, lambda _: ()).findings
    if findings and all(each.effect is Effect.FORGETS for each in findings):
        return utterance.text
    alone = [turn.model_copy(update={"text": each.words}) for each in findings if each.effect is Effect.FORGETS]
    kept = [
        each
        for each in alone
        if all(f.effect is Effect.FORGETS for f in extractor.extract([each], None, lambda _: ()).findings)
    ]
    return ". ".join(each.text for each in kept)


def has_result(card: Card | None, user_id: str, chunk: Chunk) -> bool:
    """Return True if a card has the result of a chunk."""
    return card is not None and chunk_id(user_id, chunk) in card.recent


def erasing_changes(diff: CardDiff | None) -> tuple[CardChange, ...]:
    """Return the changes whose words must leave the log too."""
    return (
        () if diff is None else tuple(each for each in diff.changes if each.line is None and each.kind in ERASING_KINDS)
    )


def erased_lines(card: Card | None, diff: CardDiff | None) -> dict[str, str]:
    """Return the ids and values of the lines that a diff erases."""
    values = {} if card is None else {line.line_id: line.value for line in (*card.lines, *card.past)}
    return {change.line_id: values.get(change.line_id, "") for change in erasing_changes(diff)}


def erased_until(chunk: Chunk, now: datetime) -> datetime:
    """Return the end of the period that a wish to forget covers.

    Uses Kafka's time where the app's clock is slightly behind it.
    """
    stated, arrived = max(turn.stated_at for turn in chunk.turns), moment_of(chunk.last_turn_ms)
    return min(now, arrived if stated < arrived <= stated + TOLERANCE else stated)


def needs_storing(thought: ChunkEffects) -> bool:
    """Return True if the card alone does not record the result."""
    return bool(thought.corrections or thought.forgets or thought.lines)


def erasing_diff(card: Card, request: ForgetRequest, lines: Sequence[str], source: Position) -> CardDiff:
    """Return the diff that erases lines by request."""
    return CardDiff(
        event_id=request.event_id,
        occurred_at=request.occurred_at,
        user_id=card.user_id,
        version=card.version + 1,
        changes=tuple(CardChange(kind=CardChangeKind.FORGOTTEN, line_id=each) for each in dict.fromkeys(lines)),
        reasoned_by=Provenance(reasoner=f"command by {request.actor}"),
        source=source,
    )


def with_sealed_diff(card: Card | None, diff: CardDiff, key: bytes = b"") -> Card:
    """Return the card after a diff, which it seals."""
    return apply_diff(card, seal_diff(diff, None if card is None else card.chain, key))


def _is_erased(finding: PreferenceFinding, state: ListenState, user_id: str) -> bool:
    receipt = state.receipt
    if receipt is None or finding.effect is Effect.FORGETS:
        return False
    if receipt.covers(finding.domain, finding.stated_at):
        return True
    line = line_id(finding.stance, finding.dimension, finding.value, finding.domain)
    words = plain_words(finding.value)
    # A longer value minus one word has nearly the same meaning.
    nearly = [words, *(words - {word} for word in words if len(words) > 2)]  # noqa: PLR2004
    names = [card_line_digest(user_id, line), *(words_digest(user_id, each) for each in nearly)]
    if finding.domain is not None:
        fact = fact_id(Fact(dimension=finding.dimension, value=finding.value))
        told = (line, fact, statement_id(finding.stance, fact))
        names += [line_digest(user_id, finding.domain, name) for name in told]
    held = () if state.card is None else state.card.lines
    if finding.strength is Strength.IMPLIED and all(each.line_id != line for each in held):
        # After an erasure, learn a line again only from explicit statements.
        return any(name in receipt.lines for name in names)
    return any(receipt.covers_line(name, finding.stated_at) for name in names)
