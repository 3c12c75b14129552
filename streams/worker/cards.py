"""Reads and writes of cards, and of conversations that wait."""

import asyncio
from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Any

from operators.cards.draft import FORGOTTEN
from operators.cards.fold import drop_stale_quotations, erased_from_past, fold_cards, redact_card_log
from operators.erasure import with_lines
from operators.seals import reseal_receipt
from operators.steps.listen import ListenStep, erasing_changes, with_sealed_diff
from schemas import ErasedScope, Receipt, Utterance, compound_key, key_prefix, subject_digest
from schemas.cards import Card, CardDiff, PendingConversations
from streams.kafka.clients import partition_of
from streams.settings import Settings
from streams.worker import metrics
from streams.worker.runtime.batches import BatchReader
from streams.worker.runtime.producer import Producer
from streams.worker.tables import StateTable, Tables
from streams.worker.writer import VersionedWriter

# Users scanned per turn of the event loop.
USERS_PER_TURN = 2_000


class CardWriter(VersionedWriter[Card, CardDiff]):
    """Reads cards and writes their versions; callers hold the user's lock."""

    def __init__(self, reader: BatchReader, tables: Tables, producer: Producer, settings: Settings) -> None:
        super().__init__(reader, tables.cards, producer, settings, CardDiff, fold_cards)
        self._tables = tables

    def read(self, user_id: str) -> Card | None:
        """Return the user's card."""
        return self._tables.cards.read(user_id.encode())

    async def apply(self, event: Any, diff: CardDiff) -> None:
        """Write and send the version after a diff, unless it exists.

        Callers `complete` the previous version first. Raises LogIncomplete if the diff erases lines and the log has
        gaps.
        """
        card = self.read(diff.user_id)
        if card is not None and diff.version <= card.version:
            return
        erased = tuple(dict.fromkeys(change.line_id for change in erasing_changes(diff)))
        # Rewrite the log first: a crash in between leaves the card, which shows the words to look for. A quotation of
        # a remaining line may hold erased words too.
        kinds = {each.kind for each in diff.changes} | {each.kind for each in diff.not_kept}
        forgets = bool(erased) or FORGOTTEN in kinds
        if forgets:
            card, diff = await self._without(event, card, diff, erased)
        else:
            card = with_sealed_diff(card, diff, self._settings.chain_key_bytes)
            diff = card.last_diff or diff
        await self.write(event, card, [diff])
        if forgets:
            await self._tables.cards.table.scrub()
        for change in diff.changes:
            metrics.labelled(metrics.CARD_CHANGES, change.kind.value).inc()

    async def complete(self, event: Any, user_id: str, pending: Collection[str] = ()) -> None:
        """Send the newest version that a dead worker may have left.

        `pending` holds the ids of unfinished chunks, whose events are acknowledged already.
        """
        card = self.read(user_id)
        if card is None or card.last_diff is None:
            return
        if found := await self._unsent(event, card, pending, CardDiff.TOPIC):
            is_logged = found[0] is not None and found[0].version >= card.version
            await self.send(event, card, [] if is_logged else [card.last_diff])

    async def erase(self, event: Any, user_id: str) -> None:
        """Remove a user's card and its log."""
        card = self.read(user_id)
        if card is not None:
            await self._erase(event, card, [compound_key(user_id, version) for version in range(1, card.version + 1)])

    async def record_erased_lines(self, event: Any, user_id: str, lines: Sequence[str], scope: ErasedScope) -> None:
        """Write a receipt of lines, which earlier words cannot add again."""
        if not lines:
            return
        known = self._tables.receipt(user_id)
        before = known or Receipt(event_id=scope.event_id, occurred_at=scope.until, subject=subject_digest(user_id))
        after = with_lines(
            before, {line: max(before.lines.get(line, scope), scope, key=attrgetter("until")) for line in lines}
        )
        if known is None or after != known:
            receipt = reseal_receipt(known, after, self._settings.chain_key_bytes)
            await self._tables.receipts.write(event, receipt.subject.encode(), receipt)

    async def _without(
        self, event: Any, card: Card | None, diff: CardDiff, erased: Sequence[str]
    ) -> tuple[Card, CardDiff]:
        """Rewrite the log without these lines; return the new card and diff."""
        log = [] if card is None or not card.version else await self._log(event, key_prefix(card.user_id), card.version)
        erased = [*erased, *erased_from_past(log, card, self._tables.receipt(diff.user_id))]
        changed = [*log, diff] if erased else drop_stale_quotations([*log, diff])
        for line_id in erased:
            changed = redact_card_log(changed, line_id)
        return await self._rewrite(event, log, changed, diff.version)


class Conversations:
    """The table `conversations` in one worker."""

    def __init__(self, app: Any, table: StateTable[PendingConversations], settings: Settings, step: ListenStep) -> None:
        self._app, self._table, self._settings, self._step = app, table, settings, step
        self._due: dict[str, int] = {}
        self._turns: dict[str, int] = {}
        self._generation: int | None = None

    def read(self, user_id: str) -> PendingConversations | None:
        """Return a user's waiting turns."""
        return self._table.read(user_id.encode())

    async def write(self, event: Any, listening: PendingConversations) -> None:
        """Set a user's waiting turns once the changelog has them."""
        await self._table.write(event, listening.user_id.encode(), listening)
        self._note(listening)

    async def forget(self, event: Any, user_id: str) -> None:
        """Remove a user's waiting turns."""
        await self._table.delete(event, user_id.encode())
        self._drop(user_id)

    async def due(self, now_ms: int) -> list[tuple[str, int]]:
        """Return users with due conversations, and their partitions."""
        await self._scan()
        found = []
        topic = self._settings.topic(Utterance.TOPIC)
        ours = {tp.partition for tp in self._app.consumer.assignment() if tp.topic == topic}
        for user_id, due_ms in [each for each in self._due.items() if each[1] <= now_ms]:
            partition = partition_of(user_id, self._settings.partitions)
            # An earlier record that waits may continue the conversation.
            is_behind = partition in ours and self._app.reader.has_earlier(topic, partition, due_ms)
            if partition in ours and due_ms + is_behind * self._step.silence_ms <= now_ms:
                found.append((user_id, partition))
        return found

    async def _scan(self) -> None:
        generation = self._app.consumer_generation_id
        if generation == self._generation:
            return
        self._due.clear()
        self._turns.clear()
        for number, key in enumerate(tuple(self._table.table.data), 1):
            listening = self.read(key.decode())
            if listening is not None:
                self._note(listening)
            if number % USERS_PER_TURN == 0:
                await asyncio.sleep(0)
        self._generation = generation
        metrics.WAITING_TURNS.set(sum(self._turns.values()))

    def _note(self, listening: PendingConversations) -> None:
        due_ms = self._step.due_ms(listening)
        if due_ms is None:
            self._drop(listening.user_id)
            return
        self._due[listening.user_id] = due_ms
        before = self._turns.get(listening.user_id, 0)
        now = self._turns[listening.user_id] = sum(len(chunk.turns) for chunk in listening.chunks)
        metrics.WAITING_TURNS.inc(now - before)

    def _drop(self, user_id: str) -> None:
        self._due.pop(user_id, None)
        metrics.WAITING_TURNS.dec(self._turns.pop(user_id, 0))
