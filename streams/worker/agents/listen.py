"""Agent `listen`: turns conversations into cards, corrections and erasure requests.

It is the only writer of cards. Turns wait in the table `conversations` until their chunk is closed. The effects of a
chunk are computed once, stored with it, applied, and then the chunk is removed. After a crash, a successor applies the
stored effects.
"""

import asyncio
import logging
import time
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from faust.streams import _current_event
from faust.types import TP

from operators.erasure import erased_digests, value_of_line
from operators.language import chunks
from operators.language.ports import Extraction
from operators.steps.listen import (
    ListenEffects,
    ListenOutcome,
    ListenState,
    ListenStep,
    erased_lines,
    erased_until,
    has_result,
    needs_storing,
)
from schemas import DeadLetter, ErasedScope, Fact, Position, Utterance, derived_id, encode
from schemas.cards import MAX_OPEN, Card, CardAction, CardCommand, Chunk, ChunkEffects, PendingConversations, Turn
from streams.language import RULES
from streams.metrics import DEAD_LETTERS
from streams.worker import metrics
from streams.worker.cards import CardWriter, Conversations
from streams.worker.deps import Worker
from streams.worker.reasoning.reasoner import ReasonerFailed
from streams.worker.runtime.batches import ConsumedRecord, PartitionProgress
from streams.worker.runtime.dispatch import KeyedExecutor, RecordDispatcher
from streams.worker.runtime.membership import Interrupted, PartitionRevoked
from streams.worker.writer import LogIncomplete

logger = logging.getLogger("sager.listen")

STAGE = "listen"
# Extracts a chunk's statements about the user; raises ReasonerFailed.
ExtractStatements = Callable[[Sequence[Turn], Card | None, Callable[[str], Sequence[Fact]]], Awaitable[Extraction]]
# Checks for silent conversations per silence limit: a conversation ends at most a tenth late.
CHECKS_PER_SILENCE = 10
SHORTEST_SECONDS, LONGEST_SECONDS = 0.1, 5.0


def define(worker: Worker, understands: ExtractStatements) -> "ListenAgent":
    """Define the agent and its timer for silent conversations."""
    agent = ListenAgent(worker, understands)
    agent.records.define_agent(KeyedExecutor(agent.records, worker.deps.settings.in_flight).submit)
    worker.app.task(agent.watch_silence)
    return agent


class ListenAgent:
    """Handlers of utterances and card commands, and the timer for silent conversations."""

    def __init__(self, worker: Worker, understands: ExtractStatements) -> None:
        app, tables, producer, deps = self._app, self._tables, self._producer, self._deps = worker
        self._reader, self._extract_statements, settings = app.reader, understands, deps.settings
        silence_ms = round(settings.listen_silence_seconds * 1_000)
        self._step = ListenStep(settings.listen_tokens, silence_ms, privacy=deps.privacy, extractor=RULES)
        self.cards = CardWriter(app.reader, tables, producer, settings)
        self.conversations = Conversations(app, tables.conversations, settings, self._step)
        self.records = RecordDispatcher(worker, STAGE, {Utterance: self._on_utterance, CardCommand: self._on_command})
        self._chunk_slots = asyncio.Semaphore(settings.in_flight)

    async def _on_utterance(self, event: Any, utterance: Utterance, position: Position) -> str:
        user_id = utterance.user_id
        listening = self.conversations.read(user_id)
        if listening is not None and sum(chunk.is_closed for chunk in listening.chunks) >= MAX_OPEN:
            await self._process_chunks(event, user_id)
        async with self._tables.user_lock(user_id):
            state = ListenState(self.conversations.read(user_id), None, self._tables.receipt(user_id))
            # In a thread: the privacy filter takes more than a second for a long hostile turn.
            taken = await asyncio.to_thread(self._step.add_turn, state, utterance, position)
            await self._store(event, taken)
        # Also for a repeat: a dead worker may have closed the chunk without processing it.
        await self._process_chunks(event, user_id)
        return taken.outcome.value

    async def _on_command(self, event: Any, command: CardCommand, position: Position) -> str:
        user_id = command.user_id
        async with self._tables.user_lock(user_id):
            await self.finish_pending(event, user_id)
            outcome, diff = self._step.command(self._state(user_id), command, position)
            erased = erased_lines(self.cards.read(user_id), diff)
            if command.action is CardAction.REMOVE and outcome is not ListenOutcome.FORGOTTEN:
                erased.setdefault(command.line_id or "", "")
            # First, so that earlier words cannot add the lines again.
            scope = ErasedScope(event_id=command.event_id, until=position.moment, actor=command.actor, done=True)
            await self.erase_lines(event, user_id, erased, scope)
            try:
                if diff is not None:
                    await self.cards.apply(event, diff)
            except LogIncomplete as error:
                await self.records.dead_letter(event, position, "log-incomplete", str(error))
                return "given-up"
        return outcome.value

    async def erase_lines(self, event: Any, user_id: str, erased: Mapping[str, str], scope: ErasedScope) -> None:
        """Erase lines of a card from waiting turns, and ignore earlier words.

        Callers hold the user's lock. `erased` maps the ids of the lines to their words, or to "" if unknown.
        """
        digests = dict.fromkeys(name for each in erased.items() for name in erased_digests(user_id, *each))
        await self.cards.record_erased_lines(event, user_id, tuple(digests), scope)
        listening = self.conversations.read(user_id)
        if listening is None or not erased:
            return
        # In a thread, as there may be many turns.
        words = [value_of_line(*each) for each in erased.items()]
        newer = await asyncio.to_thread(chunks.scrub_pending, listening, words)
        if newer != listening:
            await self.conversations.write(event, newer)
            await self._tables.conversations.table.scrub()

    async def watch_silence(self) -> None:
        """End silent conversations periodically, as long as the worker runs."""
        seconds = self._deps.settings.listen_silence_seconds / CHECKS_PER_SILENCE
        while True:
            await asyncio.sleep(min(max(seconds, SHORTEST_SECONDS), LONGEST_SECONDS))
            try:
                await self.end_silences(int(time.time() * 1_000))
            except Exception:  # a task that raises ends the worker
                logger.exception("cannot end silent conversations")

    async def end_silences(self, now_ms: int) -> None:
        """Process silent conversations, and closed chunks of a dead worker."""
        # Faust lets the flow run while it recovers the tables, which have old values then.
        if self._app.rebalancing or not self._reader.flows:
            return
        generation = self._app.consumer_generation_id
        due = await self.conversations.due(now_ms)
        await asyncio.gather(*(self._end_silence(*each, generation, now_ms) for each in due))

    async def _end_silence(self, user_id: str, partition: int, generation: int, now_ms: int) -> None:
        async with self._chunk_slots:
            # The timer has no record, but writes need an event with a partition and a generation.
            tp = TP(self._deps.settings.topic(Utterance.TOPIC), partition)
            record = SimpleNamespace(offset=0, timestamp=None, key=None, value=None)
            event = ConsumedRecord(PartitionProgress(tp, generation, self._app), record)
            # RocksDB tables and `Reasoning` read the partition from the current event.
            _current_event.set(weakref.ref(event))
            try:
                async with self._tables.user_lock(user_id):
                    listening = self.conversations.read(user_id)
                    taken = None if listening is None else self._step.after_silence(listening, now_ms)
                    if taken is not None:
                        await self._store(event, taken)
                await self._process_chunks(event, user_id)
            except (PartitionRevoked, Interrupted):
                metrics.STALE.labels(STAGE).inc()
            except Exception:
                logger.exception("a silent conversation could not be processed; trying again")
            finally:
                _current_event.set(None)

    async def _store(self, event: Any, taken: ListenEffects) -> None:
        if taken.listening is not None:
            await self.conversations.write(event, taken.listening)
        for kind, times in taken.found.items():
            metrics.PRIVATE.labels(kind).inc(times)
        for why in taken.closed:
            metrics.labelled(metrics.CHUNKS, why.value).inc()

    def _state(self, user_id: str) -> ListenState:
        return ListenState(self.conversations.read(user_id), self.cards.read(user_id), self._tables.receipt(user_id))

    async def _process_chunks(self, event: Any, user_id: str) -> None:
        """Process a user's closed chunks in order."""
        if chunks.first_closed(self.conversations.read(user_id)) is None:
            return
        async with self._tables.conversations.lock(user_id.encode()):
            while (chunk := chunks.first_closed(self.conversations.read(user_id))) is not None:
                self._reader.touch()
                if event.generation_id != self._producer.generation():
                    raise PartitionRevoked
                if not self._reader.flows:
                    # A rebalance or shutdown would wait for a model call per chunk.
                    raise Interrupted
                try:
                    extraction = await self._statements(event, user_id, chunk)
                    async with self._tables.user_lock(user_id):
                        await self._commit(event, user_id, chunk, extraction)
                except (PartitionRevoked, Interrupted):
                    raise
                except Exception as error:
                    # If it stayed, it would fail again with every turn of the user.
                    logger.exception("a chunk of a conversation cannot be processed")
                    await self._drop(event, user_id, chunk, f"{type(error).__name__}: {error}")

    async def _statements(self, event: Any, user_id: str, chunk: Chunk) -> Extraction:
        """Return a chunk's statements; empty if its effects are stored."""
        card = self.cards.read(user_id)
        if chunk.effects is not None or has_result(card, user_id, chunk) or not chunks.has_user_turn(chunk):
            return Extraction()
        try:
            return await self._extract_statements(chunk.turns, card, self._vocabulary(user_id, chunk))
        except ReasonerFailed as error:
            await self._dead_letter(event, user_id, chunk, str(error))
            return Extraction()

    def _vocabulary(self, user_id: str, chunk: Chunk) -> Callable[[str], Sequence[Fact]]:
        domains = {turn.domain for turn in chunk.turns if turn.domain is not None}
        known = {str(each): self._deps.vocabulary(self._tables, user_id, each) for each in domains}
        return lambda domain: known.get(domain, ())

    async def _commit(self, event: Any, user_id: str, chunk: Chunk, extraction: Extraction) -> None:
        """Compute and apply a chunk's effects, unless it was erased meanwhile."""
        state = self._state(user_id)
        if state.listening is None or chunk not in state.listening.chunks:
            return
        if chunk.effects is None and not has_result(state.card, user_id, chunk) and chunks.has_user_turn(chunk):
            await self.cards.complete(event, user_id, self._pending(user_id))
            effects = self._step.finish(state, chunk, extraction, self._vocabulary(user_id, chunk))
            if needs_storing(effects):
                until = erased_until(chunk, datetime.now(UTC))
                erased = self._step.erased_values(state, extraction, effects)
                waiting = await asyncio.to_thread(chunks.scrub_pending, state.listening, erased, until, chunk)
                closed, chunk = chunk, chunk.model_copy(update={"effects": effects})
                await self.conversations.write(event, chunks.replace_chunk(waiting, closed, chunk))
            elif effects.diff is not None:
                await self.cards.apply(event, effects.diff)
        await self._apply_effects(event, user_id, chunk)

    async def finish_pending(self, event: Any, user_id: str) -> None:
        """Apply stored effects of a dead worker; callers hold the user's lock."""
        listening = self.conversations.read(user_id)
        for chunk in () if listening is None else listening.chunks:
            if chunk.effects is not None or has_result(self.cards.read(user_id), user_id, chunk):
                await self._apply_effects(event, user_id, chunk)
        await self.cards.complete(event, user_id)

    async def _apply_effects(self, event: Any, user_id: str, chunk: Chunk) -> None:
        effects = chunk.effects or ChunkEffects()
        await self.cards.complete(event, user_id, self._pending(user_id))
        scope = ErasedScope(
            event_id=chunks.chunk_id(user_id, chunk),
            until=erased_until(chunk, datetime.now(UTC)),
            actor=chunks.ACTOR,
            done=True,
        )
        await self.cards.record_erased_lines(event, user_id, effects.lines, scope)
        try:
            if effects.diff is not None:
                await self.cards.apply(event, effects.diff)
        except LogIncomplete as error:
            await self._dead_letter(event, user_id, chunk, str(error), "log-incomplete")
        for each in (*effects.corrections, *effects.forgets):
            await self._producer.send(event, each.TOPIC, user_id.encode(), encode(each), event.partition)
        listening = self.conversations.read(user_id)
        if listening is not None:
            await self.conversations.write(event, chunks.replace_chunk(listening, chunk))
        if effects.lines:
            await self._tables.conversations.table.scrub()

    async def _drop(self, event: Any, user_id: str, chunk: Chunk, detail: str) -> None:
        async with self._tables.user_lock(user_id):
            try:
                await self._dead_letter(event, user_id, chunk, detail, "internal-error")
            except (PartitionRevoked, Interrupted):
                raise
            except Exception:
                logger.exception("a chunk of a conversation is dropped without a dead letter")
            listening = self.conversations.read(user_id)
            if listening is not None:
                await self.conversations.write(event, chunks.replace_chunk(listening, chunk))

    def _pending(self, user_id: str) -> set[str]:
        """Return the ids of waiting chunks; their events are acknowledged."""
        listening: PendingConversations | None = self.conversations.read(user_id)
        return set() if listening is None else {chunks.chunk_id(user_id, each) for each in listening.chunks}

    async def _dead_letter(
        self, event: Any, user_id: str, chunk: Chunk, detail: str, reason: str = "reasoner-unavailable"
    ) -> None:
        """Dead-letter a chunk as utterances, which can be replayed."""
        partition, topic = event.partition, self._deps.settings.topic(Utterance.TOPIC)
        listening = self.conversations.read(user_id)
        applied = () if listening is None else listening.applied
        nowhere = Position(topic=topic, partition=partition, offset=0, timestamp_ms=chunk.last_turn_ms)
        position = next((each for each in applied if each.topic == topic), nowhere)
        for utterance in chunks.replayable_utterances(user_id, chunk):
            letter = DeadLetter.of(STAGE, position, reason, detail, user_id.encode(), encode(utterance))
            # Several letters share a position, so their ids also depend on the utterance.
            letter = letter.model_copy(update={"event_id": derived_id(letter.event_id, utterance.event_id)})
            await self._producer.send(event, DeadLetter.TOPIC, letter.key, encode(letter), partition=partition)
        DEAD_LETTERS.labels(STAGE, reason).inc()
