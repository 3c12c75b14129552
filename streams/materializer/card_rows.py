"""Rows of cards and of their log."""

from schemas import ONE, Card, CardDiff, CardLine
from streams.materializer import card_tables as tables
from streams.materializer.records import Put, Record, Row, reasoned, utc

_GONE: Row = {column.name: None for column in tables.ABOUT}


def card(event: Card, record: Record) -> Put:
    """The current card, with one row per line."""
    row = {
        "user_id": event.user_id,
        "version": event.version,
        "lines": len(event.lines),
        "past": len(event.past),
        "pinned": sum(line.pinned for line in event.lines),
        "reward": event.reward / ONE,
        "event_id": event.event_id,
        "updated_at": utc(event.occurred_at),
        "document": record.document,
        **record.provenance,
    }
    return Put(tables.CARDS, row, (_lines(event),))


def _lines(event: Card) -> list[Row]:
    return [
        {
            "user_id": event.user_id,
            "version": event.version,
            "place": place,
            "line_id": line.line_id,
            **_about(line),
            "words": line.words,
            "weight": line.weight / ONE,
            "against": line.against / ONE,
            "since": utc(line.since),
            "confirmed_at": utc(line.confirmed_at),
            "since_version": line.version,
            "times": line.times,
            "evidence": list(line.evidence),
            "pinned": line.pinned,
            "is_past": place > len(event.lines),
            "overtaken_by": line.overtaken_by,
            "overtaken_at": line.overtaken_at and utc(line.overtaken_at),
        }
        for place, line in enumerate((*event.lines, *event.past), start=1)
    ]


def card_diff(event: CardDiff, record: Record) -> Put:
    """One version of a card, with one row per change and per kind of what was not kept."""
    key = {"user_id": event.user_id, "version": event.version}
    about = {"event_id": event.event_id, "occurred_at": utc(event.occurred_at)}
    row = {
        **key,
        **about,
        "conversation_id": event.conversation_id,
        "changes": len(event.changes),
        "not_kept": sum(each.times for each in event.not_kept),
        "reward": None if event.reward is None else event.reward / ONE,
        **reasoned(event.reasoned_by),
        "document": record.document,
        **record.provenance,
    }
    changes = [
        {
            **key,
            "seq": seq,
            "kind": change.kind.value,
            "line_id": change.line_id,
            "reason": change.reason,
            **(_GONE if change.line is None else _about(change.line)),
            "overtaken_by": change.line and change.line.overtaken_by,
            **about,
        }
        for seq, change in enumerate(event.changes, start=1)
    ]
    receipts = [{**key, "kind": each.kind, "times": each.times, **about} for each in event.not_kept]
    return Put(tables.CARD_DIFFS, row, (changes, receipts))


def _about(line: CardLine) -> Row:
    return {
        "stance": line.stance.value,
        "dimension": line.dimension,
        "value": line.value,
        "domain": line.domain,
        "strength": line.strength.value,
    }
