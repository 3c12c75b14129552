"""Forgetting in a worker: removes a person from its tables and topics, and from the items of the graph.

The receipt is written first: from then on nothing that happened before is learned from, in whatever order it comes.
It is marked as done last: after a crash in between the request comes again and is carried out to its end.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from operators.chain import seal_all
from operators.clocks import kafka_time, reached
from operators.contrast import SLOTS
from operators.forget import (
    Held,
    forgotten_lines,
    scrubbed_conversations,
    scrubbed_memory,
    scrubbed_profile,
    with_known,
    with_scope,
)
from operators.merge import OutOfOrder, fold, next_diff
from operators.propagate import all_touches, forgotten_touch, neighbour_of
from operators.redact import of_line, placeholder, redacted
from operators.seals import resealed
from operators.steps.listen import unlearned
from schemas import (
    Card,
    Change,
    ChangeKind,
    Evidence,
    ForgetRequest,
    Forgotten,
    Listening,
    Memory,
    OpenRankings,
    PolicySkill,
    Position,
    Profile,
    ReasonedBy,
    Receipt,
    Said,
    SkillDiff,
    SlimSkill,
    StatementChange,
    compound_key,
    derived_id,
    diff_key,
    encode,
    key_start,
    known_as,
    moment_of,
    subject_of,
)
from schemas.codec import ModelT
from streams.worker import metrics
from streams.worker.agents.listen import Listener
from streams.worker.cards import LogIncomplete
from streams.worker.graph import send_touch, tell_items
from streams.worker.pipeline import Pipeline, position_of
from streams.worker.runtime.history import read_versions
from streams.worker.runtime.lookup import keys_that_begin
from streams.worker.runtime.ordered import Abandoned, Stale
from streams.worker.runtime.repairs import DeliveredTable

AT_ONCE = 200
"""Records of one request that are on their way at once."""
LOOK_SECONDS = 0.02
ASK_AGAIN_SECONDS = 30.0
"""An answer is on a compacted topic: one that nobody read in time may be gone, and is given again."""


class Apply(Protocol):
    """Writes and sends the next version of a skill; `always` its slim skill too, whether it seems changed or not."""

    async def __call__(self, event: Any, skill: PolicySkill, diff: SkillDiff, *, always: bool = False) -> None:
        """Do it."""


class Forgetting:
    """Carries out requests to forget.

    Args:
        pipeline: the worker's parts.
        apply: writes and sends the next version of a skill.
        drop: called with the key of each deleted skill.
        listener: has the cards and the conversations.
    """

    def __init__(self, pipeline: Pipeline, apply: Apply, drop: Callable[[bytes], None], listener: Listener) -> None:
        self._pipeline, self._apply, self._drop, self._listener = pipeline, apply, drop, listener

    async def on_request(self, event: Any, request: ForgetRequest, position: Position) -> str:
        """Carry out one request; its outcome's word.

        It covers everything until now. The event's own time does not count: it may be behind or ahead. The worker's
        clock does not decide alone: it may be wrong too. A request is a repeat if all of it is.

        Raises:
            LogIncomplete: a line's history cannot be written anew. Nothing that was done is lost: it can be repeated.
        """
        pipeline = self._pipeline
        receipt = pipeline.receipt(request.user_id)
        repeat = known_as(request.user_id, encode(request).decode(), pipeline.settings.event_key_bytes)
        last = None if receipt is None else _scope(receipt, request)
        if receipt is not None and repeat in receipt.known:
            return "repeated"
        held = await self._held(request)
        until = held.moment(self._now(held, position))
        versions = await self._count(request)
        if last is not None:
            until = max(until, last.until)
            if last.event_id == request.event_id and not last.done:
                # Begun by a worker that died. Its count is from before anything was removed.
                until, versions = last.until, last.versions or versions
        # Kafka's time for what is written of it, so that a successor writes the same.
        request = request.model_copy(update={"occurred_at": min(position.moment, until)})
        receipt = receipt or Receipt(
            event_id=request.event_id, occurred_at=request.occurred_at, subject=subject_of(request.user_id)
        )
        if request.line is None:
            key = pipeline.settings.event_key_bytes
            receipt = with_known(receipt, (known_as(request.user_id, name, key) for name in held.ids))
        scope = Forgotten(event_id=request.event_id, until=until, actor=request.actor, versions=versions)
        receipt = await self._write(event, request, receipt, scope)
        await (self._line(event, request, position) if request.line else self._all(event, request))
        for table in (
            pipeline.skills,
            pipeline.profiles,
            pipeline.memories,
            pipeline.open_rankings,
            pipeline.cards,
            pipeline.conversations,
        ):
            await table.scrub()
        receipt = pipeline.receipt(request.user_id) or receipt  # with the lines of a card that went with it
        await self._write(event, request, with_known(receipt, [repeat]), scope.model_copy(update={"done": True}))
        kind = "line" if request.line else "domain" if request.domain else "person"
        metrics.FORGOTTEN.labels(kind).inc()
        return "forgotten"

    def _now(self, held: Held, position: Position) -> datetime:
        """Return the time of a request, which one wrong clock does not move."""
        read = moment_of(self._pipeline.newest_ms)
        return reached(kafka_time(position), max(held.newest or read, read), datetime.now(UTC))

    async def _write(self, event: Any, request: ForgetRequest, receipt: Receipt, scope: Forgotten) -> Receipt:
        held = self._pipeline.receipt(request.user_id)
        newer = resealed(held, with_scope(receipt, request, scope), self._pipeline.settings.chain_key_bytes)
        await self._pipeline.write(self._pipeline.receipts, event, newer.subject.encode(), newer)
        return newer

    async def _held(self, request: ForgetRequest) -> Held:
        """What there is of the person, as far as this is about it."""
        pipeline, user_id = self._pipeline, request.user_id
        slots = [compound_key(user_id, slot) for slot in range(SLOTS)]
        return Held(
            profiles=self._values(pipeline.profiles, await self._keys(pipeline.profiles, request), Profile),
            memories=self._values(pipeline.memories, await self._keys(pipeline.memories, request), Memory),
            skills=self._values(pipeline.skills, await self._keys(pipeline.skills, request), PolicySkill),
            rings=self._values(pipeline.open_rankings, slots, OpenRankings),
            cards=self._values(pipeline.cards, [user_id.encode()], Card),
            conversations=self._values(pipeline.conversations, [user_id.encode()], Listening),
            limits=pipeline.ring_limits,
            domain=request.domain,
        )

    def _values(self, table: DeliveredTable, keys: Sequence[bytes], model: type[ModelT]) -> list[ModelT]:
        found = (self._pipeline.read(table, key, model) for key in keys)
        return [each for each in found if each is not None]

    async def _count(self, request: ForgetRequest) -> int:
        """How many versions of skills this will remove or rewrite."""
        pipeline = self._pipeline
        skills = self._values(pipeline.skills, await self._keys(pipeline.skills, request), PolicySkill)
        return sum(skill.version for skill in skills if request.line is None or request.event_id not in skill.recent)

    async def _all(self, event: Any, request: ForgetRequest) -> None:
        """Forget everything of one domain, or of all."""
        pipeline = self._pipeline
        for key in await self._keys(pipeline.skills, request):
            await self._skill(event, key)
        for table in (pipeline.profiles, pipeline.memories):
            for key in await self._keys(table, request):
                async with pipeline.lock(table.name, key):
                    await pipeline.delete(table, event, key)
        await self._open_rankings(event, request)
        await self._said(event, request)
        await self._everywhere(event, request)

    async def _said(self, event: Any, request: ForgetRequest) -> None:
        """Forget what was said in conversations; of one domain, what is of it."""
        listener, user_id = self._listener, request.user_id
        if request.domain is None:
            await listener.conversations.forget(event, user_id)
            await listener.cards.forget(event, user_id)
            return
        # What is on the card already is not to be thought over again without the turns that go.
        await listener.carry_on(event, user_id)
        listening = listener.conversations.read(user_id)
        if listening is not None and request.line is None:
            await listener.conversations.write(event, scrubbed_conversations(listening, request.domain))
        await self._unlearn(event, request)

    async def _unlearn(self, event: Any, request: ForgetRequest) -> None:
        """Take lines off the card, and out of its log: those of the domain, or the one that is meant."""
        cards, user_id = self._listener.cards, request.user_id
        card = cards.read(user_id)
        lines = () if card is None else forgotten_lines(card, request.domain, request.line)
        if card is None or not lines:
            return
        position = position_of(event.message)
        if request.line is not None:
            # First: a request that comes again finds the lines gone.
            scope = Forgotten(event_id=request.event_id, until=position.moment, actor=request.actor, done=True)
            said = {each.line_id: each.value for each in (*card.lines, *card.past)}
            await self._listener.forgets(event, user_id, {each: said[each] for each in lines}, scope)
        await cards.apply(event, unlearned(card, request, lines, position))

    async def _skill(self, event: Any, key: bytes) -> None:
        pipeline, partition = self._pipeline, event.message.partition
        skill = pipeline.read(pipeline.skills, key, PolicySkill)
        if skill is None:
            return
        keys = [diff_key(skill.user_id, skill.domain, version) for version in range(1, skill.version + 1)]
        await self._in_parts([pipeline.tombstone(event, SkillDiff.TOPIC, each, partition) for each in keys])
        await pipeline.tombstone(event, SlimSkill.TOPIC, key, partition)
        # Last: while it is there, a repeated request knows which versions there are to remove.
        await pipeline.delete(pipeline.skills, event, key)
        self._drop(key)

    async def _open_rankings(self, event: Any, request: ForgetRequest) -> None:
        pipeline = self._pipeline
        for slot in range(SLOTS):
            key = compound_key(request.user_id, slot)
            async with pipeline.lock("open-rankings", key):
                rings = pipeline.read(pipeline.open_rankings, key, OpenRankings)
                if rings is None:
                    continue
                if request.domain is None:
                    await pipeline.delete(pipeline.open_rankings, event, key)
                    continue
                kept = tuple(each for each in rings.rankings if each.domain != request.domain)
                # Of what was answered nobody knows the domain.
                rest = rings.model_copy(update={"rankings": kept, "answered": ()})
                await pipeline.write(pipeline.open_rankings, event, key, rest)

    async def _everywhere(self, event: Any, request: ForgetRequest) -> None:
        """Have every partition's owner take the person out of its items, and wait until all have."""
        pipeline, partitions = self._pipeline, range(self._pipeline.settings.partitions)
        source = position_of(event.message)
        name = derived_id("forget", source.topic, str(source.partition), str(source.offset))
        touch = forgotten_touch(neighbour_of(request.user_id, pipeline.graph_limits.secret), request.domain, name)
        while waiting := [each for each in partitions if not pipeline.items.has_forgotten(each, name)]:
            await asyncio.gather(*(send_touch(pipeline, event, touch, each) for each in waiting))
            ask_again = time.monotonic() + ASK_AGAIN_SECONDS
            while time.monotonic() < ask_again and not all(pipeline.items.has_forgotten(p, name) for p in waiting):
                if not pipeline.app.flow_control.is_active():
                    # A rebalance or the worker's end waits for this request, which waits for what is not read now.
                    raise Abandoned
                if event.message.generation_id != pipeline.generation():
                    raise Stale
                pipeline.touch()
                await asyncio.sleep(LOOK_SECONDS)

    async def _line(self, event: Any, request: ForgetRequest, position: Position) -> None:
        pipeline, line, domain = self._pipeline, request.line or "", request.domain or ""
        key = compound_key(request.user_id, domain)
        async with pipeline.lock("profiles", key):
            profile = pipeline.read(pipeline.profiles, key, Profile)
            if profile is not None:
                await pipeline.write(pipeline.profiles, event, key, scrubbed_profile(profile, line))
        skill = pipeline.read(pipeline.skills, key, PolicySkill)
        if skill is not None and request.event_id not in skill.recent:
            log = await self._log(event, skill)
            await self._rewrite(event, request, position, skill, redacted(log, line))
        async with pipeline.lock("memories", key):
            memory = pipeline.read(pipeline.memories, key, Memory)
            if memory is not None:
                scrubbed = scrubbed_memory(memory, line)
                # Items hold what the person takes most: they forget it all, and hear again what is left.
                await self._everywhere(event, request)
                await tell_items(pipeline, event, all_touches(scrubbed, pipeline.graph_limits))
                await pipeline.write(pipeline.memories, event, key, scrubbed)
        await self._said(event, request)

    async def _log(self, event: Any, skill: PolicySkill) -> list[SkillDiff]:
        async def ask() -> list[SkillDiff]:
            return await asyncio.to_thread(
                read_versions,
                self._pipeline.settings,
                SkillDiff,
                event.message.partition,
                key_start(skill.user_id, skill.domain),
            )

        return await self._pipeline.retry(event, "reading a skill's log", ask)

    async def _rewrite(
        self, event: Any, request: ForgetRequest, position: Position, skill: PolicySkill, log: Sequence[SkillDiff]
    ) -> None:
        """Write the log anew without the line, and then the version in which the line is gone."""
        pipeline = self._pipeline
        sealed = seal_all(log, pipeline.settings.chain_key_bytes)
        try:
            again = fold(sealed).get((skill.user_id, skill.domain))
        except OutOfOrder as error:
            raise LogIncomplete(str(error)) from error
        if again is None or again.version != skill.version:
            raise LogIncomplete(f"the log is at version {again.version if again else 0}, the skill at {skill.version}")
        partition = event.message.partition
        await self._in_parts(
            [
                pipeline.send(event, SkillDiff.TOPIC, diff_key(d.user_id, d.domain, d.version), encode(d), partition)
                for d in sealed
            ]
        )
        name = placeholder(request.line or "")
        held = next((a for a in again.attributes if a.attribute_id == name), None)
        gone = () if held is None else (Change(kind=ChangeKind.FORGOTTEN, attribute_id=name, before=held.tier),)
        unsaid = (each.statement_id for each in again.stated if of_line(each, request.line or ""))
        diff = next_diff(
            again,
            request,
            changes=gone,
            stated=tuple(StatementChange(kind=Said.FORGOTTEN, statement_id=each) for each in unsaid),
            evidence=Evidence(event_id=request.event_id),
            is_contrast=False,
            reasoned_by=ReasonedBy(reasoner=f"command by {request.actor}"),
            source=position,
        )
        await self._apply(event, again, diff, always=True)

    async def _keys(self, table: DeliveredTable, request: ForgetRequest) -> list[bytes]:
        """The person's keys in a table, of one domain or all."""
        if request.domain is not None:
            return [compound_key(request.user_id, request.domain)]
        return await keys_that_begin(table, request.user_id)

    async def _in_parts(self, sends: Sequence[Awaitable[object]]) -> None:
        for start in range(0, len(sends), AT_ONCE):
            await asyncio.gather(*sends[start : start + AT_ONCE])


def _scope(receipt: Receipt, request: ForgetRequest) -> Forgotten | None:
    if request.line is not None:
        return receipt.lines.get(request.line)
    return receipt.person if request.domain is None else receipt.domains.get(request.domain)
