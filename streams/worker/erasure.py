"""Erases a user, a domain or a line from state and topics.

The receipt is written first, so that no earlier event is learned from, in whatever order events come. It is marked as
done last: after a crash in between, the request comes again and is completed.
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from operators import erasure
from operators.admission import kafka_time, median_clock
from operators.contrast import SLOTS
from operators.graph.items import forgotten_touch, neighbour_of, touch_taken
from operators.seals import reseal_receipt
from operators.steps.listen import erasing_diff
from schemas import ModelT, Position, compound_key, derived_id, encode, event_digest, moment_of, subject_digest
from schemas.commands import ErasedScope, ForgetRequest, Receipt
from streams.worker import metrics
from streams.worker.agents.listen import ListenAgent
from streams.worker.deps import Worker
from streams.worker.items import send_touch, send_touches
from streams.worker.runtime.membership import Interrupted, PartitionRevoked
from streams.worker.skills import SkillWriter
from streams.worker.tables import StateTable

POLL_SECONDS = 0.02
# Reports are on a compacted topic, so one that was not read in time may be gone: the request is sent again.
RESEND_SECONDS = 30.0


class ErasureHandler:
    """Carries out erasure requests; callers hold the user's lock."""

    def __init__(self, worker: Worker, skills: SkillWriter, listener: ListenAgent) -> None:
        self._app, self._tables, self._producer, self._deps = worker
        self._reader, self._skills, self._listener = worker.app.reader, skills, listener

    async def on_request(self, event: Any, request: ForgetRequest, position: Position) -> str:
        """Carry out one request, which covers everything until now; return its outcome.

        Raises LogIncomplete if the history of a line cannot be rewritten; the request can be repeated.
        """
        receipt = self._tables.receipt(request.user_id)
        repeat = event_digest(request.user_id, encode(request).decode(), self._deps.settings.event_key_bytes)
        last = None if receipt is None else _scope(receipt, request)
        if receipt is not None and repeat in receipt.known:
            return "repeated"
        stored = await self._stored(request)
        read = moment_of(self._reader.newest_ms)
        until = stored.moment(median_clock(kafka_time(position), max(stored.newest or read, read), datetime.now(UTC)))
        counted = (skill for skill in stored.skills if request.line is None or request.event_id not in skill.recent)
        versions = sum(skill.version for skill in counted)
        if last is not None:
            until = max(until, last.until)
            if last.event_id == request.event_id and not last.done:
                # A dead worker has begun this. Its count of versions is from before the removal.
                until, versions = last.until, last.versions or versions
        # Kafka's time, so that a successor writes the same records.
        request = request.model_copy(update={"occurred_at": min(position.moment, until)})
        receipt = receipt or Receipt(
            event_id=request.event_id, occurred_at=request.occurred_at, subject=subject_digest(request.user_id)
        )
        if request.line is None:
            key = self._deps.settings.event_key_bytes
            receipt = erasure.with_known(receipt, (event_digest(request.user_id, name, key) for name in stored.ids))
        scope = ErasedScope(event_id=request.event_id, until=until, actor=request.actor, versions=versions)
        receipt = await self._write_receipt(event, request, receipt, scope)
        await (self._erase_line(event, request, position) if request.line else self._erase_scope(event, request))
        for table in self._tables.by_name.values():
            await table.scrub()
        receipt = self._tables.receipt(request.user_id) or receipt  # with the lines erased with the card
        await self._write_receipt(
            event, request, erasure.with_known(receipt, [repeat]), scope.model_copy(update={"done": True})
        )
        kind = "line" if request.line else "domain" if request.domain else "person"
        metrics.FORGOTTEN.labels(kind).inc()
        return "forgotten"

    async def _write_receipt(self, event: Any, request: ForgetRequest, receipt: Receipt, scope: ErasedScope) -> Receipt:
        stored = self._tables.receipt(request.user_id)
        newer = reseal_receipt(stored, erasure.with_scope(receipt, request, scope), self._deps.settings.chain_key_bytes)
        await self._tables.receipts.write(event, newer.subject.encode(), newer)
        return newer

    async def _stored(self, request: ForgetRequest) -> erasure.StoredState:
        tables, user_id = self._tables, request.user_id
        slots = [compound_key(user_id, slot) for slot in range(SLOTS)]
        return erasure.StoredState(
            profiles=_values(tables.profiles, await self._keys(tables.profiles, request)),
            memories=_values(tables.memories, await self._keys(tables.memories, request)),
            skills=_values(tables.skills, await self._keys(tables.skills, request)),
            rings=_values(tables.open_rankings, slots),
            cards=_values(tables.cards, [user_id.encode()]),
            conversations=_values(tables.conversations, [user_id.encode()]),
            limits=self._deps.ring_limits,
            domain=request.domain,
        )

    async def _erase_scope(self, event: Any, request: ForgetRequest) -> None:
        for key in await self._keys(self._tables.skills, request):
            await self._skills.erase(event, key)
        for table in (self._tables.profiles, self._tables.memories):
            for key in await self._keys(table, request):
                async with table.lock(key):
                    await table.delete(event, key)
        await self._erase_rankings(event, request)
        await self._erase_conversations(event, request)
        await self._erase_from_items(event, request)

    async def _erase_conversations(self, event: Any, request: ForgetRequest) -> None:
        """Forget conversations and the card, or their parts about the scope."""
        listener, user_id = self._listener, request.user_id
        if request.domain is None:
            await listener.conversations.forget(event, user_id)
            await listener.cards.erase(event, user_id)
            return
        # Otherwise a chunk that is on the card already would be processed again without the erased turns.
        await listener.finish_pending(event, user_id)
        listening = listener.conversations.read(user_id)
        if listening is not None and request.line is None:
            await listener.conversations.write(event, erasure.scrub_conversations(listening, request.domain))
        card = listener.cards.read(user_id)
        lines = () if card is None else erasure.lines_in_scope(card, request.domain, request.line)
        if card is None or not lines:
            return
        position = event.position
        if request.line is not None:
            # First: after a crash, the repeated request no longer finds the lines on the card.
            scope = ErasedScope(event_id=request.event_id, until=position.moment, actor=request.actor, done=True)
            values = {each.line_id: each.value for each in (*card.lines, *card.past)}
            await listener.erase_lines(event, user_id, {each: values[each] for each in lines}, scope)
        await listener.cards.apply(event, erasing_diff(card, request, lines, position))

    async def _erase_rankings(self, event: Any, request: ForgetRequest) -> None:
        for slot in range(SLOTS):
            key = compound_key(request.user_id, slot)
            async with self._tables.open_rankings.lock(key):
                rings = self._tables.open_rankings.read(key)
                if rings is None:
                    continue
                if request.domain is None:
                    await self._tables.open_rankings.delete(event, key)
                    continue
                if request.line is not None:
                    rest = erasure.scrub_rankings(rings, request.domain, request.line)
                else:
                    kept = tuple(each for each in rings.rankings if each.domain != request.domain)
                    answered = tuple(each for each in rings.answered if each.domain not in (None, request.domain))
                    rest = rings.model_copy(update={"rankings": kept, "answered": answered})
                if rest != rings:
                    await self._tables.open_rankings.write(event, key, rest)

    async def _erase_from_items(self, event: Any, request: ForgetRequest) -> None:
        """Make all owners of items remove the user, and await their reports."""
        items, partitions = self._deps.items, range(self._deps.settings.partitions)
        source = event.position
        name = derived_id("forget", source.topic, str(source.partition), str(source.offset))
        touch = forgotten_touch(neighbour_of(request.user_id, self._deps.graph_limits.secret), request.domain, name)
        while waiting := [each for each in partitions if not items.has_erased(each, name)]:
            await asyncio.gather(*(send_touch(self._producer, event, touch, each) for each in waiting))
            ask_again = time.monotonic() + RESEND_SECONDS
            while time.monotonic() < ask_again and not all(items.has_erased(p, name) for p in waiting):
                if not self._app.flow_control.is_active():
                    # A rebalance or shutdown waits for this request, and no reports are read meanwhile.
                    raise Interrupted
                if event.generation_id != self._producer.generation():
                    raise PartitionRevoked
                self._reader.touch()
                await asyncio.sleep(POLL_SECONDS)

    async def _erase_line(self, event: Any, request: ForgetRequest, position: Position) -> None:
        line, domain = request.line or "", request.domain or ""
        key = compound_key(request.user_id, domain)
        async with self._tables.profiles.lock(key):
            profile = self._tables.profiles.read(key)
            if profile is not None:
                await self._tables.profiles.write(event, key, erasure.scrub_profile(profile, line))
        skill = self._tables.skills.read(key)
        if skill is not None and request.event_id not in skill.recent:
            await self._skills.erase_line(event, request, position, skill)
        async with self._tables.memories.lock(key):
            memory = self._tables.memories.read(key)
            if memory is not None:
                scrubbed = erasure.scrub_memory(memory, line)
                # Items hold the user's tastes: remove the user, then send the remaining tastes.
                await self._erase_from_items(event, request)
                await send_touches(
                    self._producer, event, touch_taken(scrubbed, scrubbed.taken[::-1], self._deps.graph_limits)
                )
                await self._tables.memories.write(event, key, scrubbed)
        await self._erase_rankings(event, request)
        await self._erase_conversations(event, request)

    async def _keys(self, table: StateTable[Any], request: ForgetRequest) -> list[bytes]:
        if request.domain is not None:
            return [compound_key(request.user_id, request.domain)]
        return await table.table.keys_of(request.user_id)


def _scope(receipt: Receipt, request: ForgetRequest) -> ErasedScope | None:
    if request.line is not None:
        return receipt.lines.get(request.line)
    return receipt.person if request.domain is None else receipt.domains.get(request.domain)


def _values(table: StateTable[ModelT], keys: Sequence[bytes]) -> list[ModelT]:
    return [value for value in map(table.read, keys) if value is not None]
