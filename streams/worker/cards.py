"""Reads and writes users' cards; every version is written here."""

from collections.abc import Collection, Sequence
from typing import Any

from operators.cards.fold import OutOfOrder, fold, redacted, unquoted
from operators.chain import seal_all
from operators.forget import with_lines
from operators.seals import resealed
from operators.steps.listen import erasures, newer
from schemas import Card, CardChangeKind, CardDiff, Forgotten, Receipt, compound_key, key_start, subject_of
from streams.worker import metrics
from streams.worker.pipeline import Pipeline
from streams.worker.writer import LogIncomplete, LogWriter


class CardWriter(LogWriter[CardDiff]):
    """Reads cards, and writes the versions that steps make of them. For callers that hold the user's lock."""

    def __init__(self, pipeline: Pipeline) -> None:
        super().__init__(pipeline, CardDiff)

    def read(self, user_id: str) -> Card | None:
        """Return the user's card."""
        return self._pipeline.read(self._pipeline.cards, user_id.encode(), Card)

    async def apply(self, event: Any, diff: CardDiff) -> None:
        """Write and send the version that a diff leads to, unless the card has it already.

        Callers first `complete` the version before it. If lines are erased, the log is rewritten before the card: while
        the card has a line, its words can be looked for. Raises LogIncomplete if the log of a card that is to lose a
        line has gaps.
        """
        card = self.read(diff.user_id)
        if card is not None and diff.version <= card.version:
            return
        gone = tuple(dict.fromkeys(change.line_id for change in erasures(diff)))
        # The quotation of a line that stays may hold erased words too.
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
        """Send the newest version if a worker that died may not have sent it.

        `pending` are the ids of unfinished chunks, whose events are acknowledged already.
        """
        card = self.read(user_id)
        last = None if card is None else card.last_diff
        if card is None or last is None or self._sent.is_noted(key_start(user_id), card.version):
            return
        is_over = last.source is not None and self._pipeline.is_acknowledged(last.source)
        if is_over and last.event_id not in pending:
            return
        found = await self._newest(event, CardDiff.TOPIC, key_start(user_id), last)
        if found is None or found.version < card.version:
            await self._send(event, last)
        else:
            self._sent.note(key_start(user_id), card.version)

    async def _send(self, event: Any, diff: CardDiff) -> None:
        name = key_start(diff.user_id)
        await self._send_diff(event, diff, name)
        self._sent.note(name, diff.version)

    async def erase(self, event: Any, user_id: str) -> None:
        """Remove a user's card and its log."""
        card = self.read(user_id)
        if card is None:
            return
        await self._remove(event, [compound_key(user_id, version) for version in range(1, card.version + 1)])
        # Last: while it is there, a repeated request knows which versions to remove.
        await self._pipeline.delete(self._pipeline.cards, event, user_id.encode())
        self._sent.forget(key_start(user_id))

    async def note_forgotten(self, event: Any, user_id: str, lines: Sequence[str], scope: Forgotten) -> None:
        """Write the receipt of erased lines, so that no earlier words bring them back."""
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
        """Rewrite the log without these lines; return the card after the diff, and the diff, without them too."""
        log = [] if card is None or not card.version else await self._log(event, key_start(card.user_id), card.version)
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
        await self._replace(event, log, told)
        return after, told[-1]


def count(diff: CardDiff) -> None:
    """Count the changes of a version, and the private data that it leaves out."""
    for change in diff.changes:
        metrics.labelled(metrics.CARD_CHANGES, change.kind.value).inc()
    for each in diff.not_kept:
        metrics.labelled(metrics.NOT_KEPT, metrics.NOT_KEPT_KINDS.label(each.kind)).inc(each.times)


def _latest(held: Forgotten | None, scope: Forgotten) -> Forgotten:
    return scope if held is None or held.until < scope.until else held
