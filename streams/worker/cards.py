"""The one way in which a version of a card comes into the world: written first, sent then, once each."""

import asyncio
import time
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from operators.cards.fold import OutOfOrder, fold
from operators.cards.redact import redacted, unquoted
from operators.chain import seal_all
from operators.forget import with_lines
from operators.seals import resealed
from operators.steps.listen import erasures, newer
from schemas import (
    Card,
    CardChangeKind,
    CardDiff,
    Forgotten,
    Receipt,
    compound_key,
    encode,
    key_start,
    subject_of,
)
from streams.worker import metrics
from streams.worker.pipeline import Pipeline
from streams.worker.runtime.history import read_versions
from streams.worker.runtime.sent import Sent

AT_ONCE = 200
"""Records of one card that are on their way at once."""


class LogIncomplete(Exception):
    """The log of a skill or of a card has gaps, and cannot be written anew."""


class Cards:
    """Reads cards, and applies what steps make of them. For callers that hold the person's lock.

    Args:
        pipeline: the worker's parts.
        sent: what is on the output topics.
    """

    def __init__(self, pipeline: Pipeline, sent: Sent) -> None:
        self._pipeline, self._sent = pipeline, sent

    def one_at_a_time(self, user_id: str) -> asyncio.Lock:
        """The lock under which versions of a person's cards and skills are made, and they are forgotten.

        Nobody is asked anything while it is held.
        """
        return self._pipeline.lock("skills", user_id.encode())

    def read(self, user_id: str) -> Card | None:
        """The person's card as it is now."""
        return self._pipeline.read(self._pipeline.cards, user_id.encode(), Card)

    async def apply(self, event: Any, diff: CardDiff) -> None:
        """Write and send the version that a diff leads to, unless the card holds it already.

        All of the version before it is sent first: a worker that died may not have come to that. Where lines are
        forgotten, the log is written anew before the card: while the card has a line, its words can be looked for.

        Raises:
            LogIncomplete: the log of a card that is to forget a line has gaps.
        """
        card = self.read(diff.user_id)
        if card is not None and diff.version <= card.version:
            return
        gone = tuple(dict.fromkeys(change.line_id for change in erasures(diff)))
        # Of a line that stays, too, the quotation may have told what is forgotten.
        forgets = bool(gone) or any(change.kind is CardChangeKind.FORGOTTEN for change in diff.changes)
        if forgets:
            card, diff = await self._rewrite(event, card, diff, gone)
        else:
            card = newer(card, diff, self._pipeline.settings.chain_key_bytes)
            diff = card.last_diff or diff
        await self._pipeline.write(self._pipeline.cards, event, diff.user_id.encode(), card)
        await self._send(event, diff)
        if forgets:
            await self._pipeline.cards.scrub()
        count(diff)

    async def complete(self, event: Any, user_id: str, pending: Collection[str] = ()) -> None:
        """Send the newest version, where a worker that died may not have, and the log does not have it.

        Args:
            event: what is in hand.
            user_id: whose card.
            pending: the ids of chunks that are not done with, though no event stands for them any more.
        """
        card = self.read(user_id)
        last = None if card is None else card.last_diff
        if card is None or last is None or self._sent.is_card_noted(card):
            return
        is_over = last.source is not None and self._pipeline.is_acknowledged(last.source)
        if is_over and last.event_id not in pending:
            return
        ask = partial(self._sent.newest_of_card, event.message.partition, card)
        found = await self._pipeline.retry(event, "reading the end of card-diffs", ask)
        if found is None or found.version < card.version:
            await self._send(event, last)
        else:
            self._sent.note_card(user_id, card.version)

    async def forget(self, event: Any, user_id: str) -> None:
        """Remove a person's card and its log."""
        card, partition = self.read(user_id), event.message.partition
        if card is None:
            return
        keys = [compound_key(user_id, version) for version in range(1, card.version + 1)]
        for start in range(0, len(keys), AT_ONCE):
            part = keys[start : start + AT_ONCE]
            await asyncio.gather(*(self._pipeline.tombstone(event, CardDiff.TOPIC, key, partition) for key in part))
        # Last: while it is there, a repeated request knows which versions there are to remove.
        await self._pipeline.delete(self._pipeline.cards, event, user_id.encode())
        self._sent.forget(key_start(user_id))

    async def note_forgotten(self, event: Any, user_id: str, lines: Sequence[str], scope: Forgotten) -> None:
        """Write the receipt of lines that were forgotten, so that no word that was said before brings them back."""
        if not lines:
            return
        pipeline = self._pipeline
        held = pipeline.receipt(user_id)
        begun = held or Receipt(event_id=scope.event_id, occurred_at=scope.until, subject=subject_of(user_id))
        after = with_lines(begun, {line: _latest(begun.lines.get(line), scope) for line in lines})
        if held is None or after != held:
            receipt = resealed(held, after, pipeline.settings.chain_key_bytes)
            await pipeline.write(pipeline.receipts, event, receipt.subject.encode(), receipt)

    async def _rewrite(
        self, event: Any, card: Card | None, diff: CardDiff, gone: Sequence[str]
    ) -> tuple[Card, CardDiff]:
        """Write the log anew without these lines; the card after the diff, and the diff, without them too."""
        log = await self._log(event, card)
        told = [*log, diff] if gone else unquoted([*log, diff])
        for line_id in gone:
            told = redacted(told, line_id)
        told = seal_all(told, self._pipeline.settings.chain_key_bytes)
        try:
            after = fold(told).get(diff.user_id)
        except OutOfOrder as error:
            raise LogIncomplete(str(error)) from error
        if after is None or after.version != diff.version:
            raise LogIncomplete(f"the log is at version {len(log)}, the card at {diff.version - 1}")
        changed = [anew for before, anew in zip(log, told, strict=False) if anew != before]
        for start in range(0, len(changed), AT_ONCE):
            await asyncio.gather(*(self._put(event, each) for each in changed[start : start + AT_ONCE]))
        return after, told[-1]

    async def _log(self, event: Any, card: Card | None) -> list[CardDiff]:
        if card is None or not card.version:
            return []

        async def ask() -> list[CardDiff]:
            return await asyncio.to_thread(
                read_versions, self._pipeline.settings, CardDiff, event.message.partition, key_start(card.user_id)
            )

        log = await self._pipeline.retry(event, "reading a card's log", ask)
        return [each for each in log if each.version <= card.version]

    async def _put(self, event: Any, diff: CardDiff) -> None:
        key = compound_key(diff.user_id, diff.version)
        await self._pipeline.send(event, CardDiff.TOPIC, key, encode(diff), event.message.partition)

    async def _send(self, event: Any, diff: CardDiff) -> None:
        key, partition = compound_key(diff.user_id, diff.version), event.message.partition
        is_there = partial(self._is_logged, event, diff)
        await self._pipeline.send(event, CardDiff.TOPIC, key, encode(diff), partition, is_there)
        self._sent.note_card(diff.user_id, diff.version)

    async def _is_logged(self, event: Any, diff: CardDiff) -> bool:
        """Whether the log has the diff, and only its acknowledgement was lost."""
        card = self.read(diff.user_id)
        if card is None:
            return False
        found = await self._sent.newest_of_card(event.message.partition, card, since=time.monotonic())
        return found is not None and found.version >= diff.version


def count(diff: CardDiff) -> None:
    """What a version changed, and what was said and is not kept."""
    for change in diff.changes:
        metrics.labelled(metrics.CARD_CHANGES, change.kind.value).inc()
    for each in diff.not_kept:
        metrics.labelled(metrics.NOT_KEPT, metrics.NOT_KEPT_KINDS.label(each.kind)).inc(each.times)


def _latest(held: Forgotten | None, scope: Forgotten) -> Forgotten:
    return scope if held is None or held.until < scope.until else held
