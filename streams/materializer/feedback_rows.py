"""Rows of signals, of what people said, and of lists of which they took nothing."""

from schemas import Abstention, Correction, Directive, Feedback
from streams.materializer import feedback_tables as tables
from streams.materializer.records import Put, Record, Row, envelope


def feedback(event: Feedback, record: Record) -> Put:
    """A signal about an item."""
    worst, best = event.scale or (None, None)
    return Put(
        tables.FEEDBACK,
        {
            **envelope(event),
            "domain": event.domain,
            "item_id": event.item.item_id,
            "title": event.item.title,
            "signal": event.signal,
            "value": event.value,
            "scale_worst": worst,
            "scale_best": best,
            "ranking_id": event.ranking_id,
            "session_id": event.session_id,
            **record.provenance,
        },
    )


def correction(event: Correction, record: Record) -> Put:
    """What somebody said, with one row per directive."""
    key = envelope(event)
    row = {
        **key,
        "domain": event.domain,
        "text": event.text,
        "language": event.language,
        "item_ids": [item.item_id for item in event.items],
        "item_id": event.item_id,
        "suits": list(event.suits),
        "scope": event.scope and event.scope.value,
        "answers": event.answers,
        "ranking_id": event.ranking_id,
        "session_id": event.session_id,
        **record.provenance,
    }
    said = [
        {**key, "seq": seq, "domain": event.domain, **_directive(each)} for seq, each in enumerate(event.says, start=1)
    ]
    return Put(tables.CORRECTIONS, row, (said,))


def _directive(said: Directive) -> Row:
    bound = said.bound
    return {
        "stance": said.stance.value,
        "dimension": said.dimension,
        "value": said.value,
        "over": said.over,
        "item_id": said.item_id,
        "measure": bound and bound.measure.value,
        "above": bound and bound.above,
        "below": bound and bound.below,
        "changed": said.changed,
    }


def abstention(event: Abstention, record: Record) -> Put:
    """A list of which nothing was taken."""
    return Put(
        tables.ABSTENTIONS,
        {
            **envelope(event),
            "domain": event.domain,
            "ranking_id": event.ranking_id,
            "instruction": event.instruction,
            "item_ids": [item.item_id for item in event.shown],
            "skill_version": event.skill_version,
            "arm": event.arm,
            "session_id": event.session_id,
            **record.provenance,
        },
    )
