"""Records to rows: one pure function per topic. `store` writes what they return to DuckDB."""

from collections.abc import Callable
from typing import Any

import orjson
from pydantic_core import to_json

from operators.privacy import Privacy
from operators.seals import authenticated
from schemas import (
    TOPICS,
    Abstention,
    BadRecord,
    Card,
    CardDiff,
    Contrast,
    Correction,
    DeadLetter,
    Feedback,
    GlobalSkill,
    Interaction,
    Item,
    Key,
    PolicySkill,
    Ranking,
    RankRequest,
    Receipt,
    Selection,
    SkillCommand,
    SkillDiff,
    SlimSkill,
    Topic,
    Weights,
    decode,
)
from streams.kafka.packed import unpack
from streams.materializer import (
    card_rows,
    card_tables,
    feedback_rows,
    feedback_tables,
    ranking_rows,
    ranking_tables,
    skill_rows,
    skill_tables,
    tables,
    weight_tables,
)
from streams.materializer.columns import Table
from streams.materializer.forgetting import Barrier
from streams.materializer.private import fit_to_keep
from streams.materializer.records import Drop, Put, Record, RowKey, envelope, from_ms, utc

_BIGINT = 2**63


def read(
    record: Record, privacy: Privacy, barrier: Barrier | None = None, ranking_key: bytes | None = None
) -> Put | Drop | None:
    """Return the change that one record makes; None for a record from before its user was erased.

    A record without a value on a compacted topic is a tombstone.

    Args:
        record: of any public topic.
        privacy: the filter of free text.
        barrier: the erased events.
        ranking_key: the secret that seals rankings; None where this process has none.

    Raises:
        BadRecord: its bytes are not what the topic carries, or hold a number too large for any column.
        ValueError: a row does not have exactly its table's columns; this is a defect in the code, not in the record.
    """
    topic = record.topic
    table, build = _BUILDERS[topic.base]
    if topic.compact and record.value is None:
        return Drop(table, _key_of_tombstone(topic, record.key))
    try:
        event = decode(topic.model, unpack(record.value or b""))
        if barrier is not None and barrier.covers(event, record.logged_at):
            return None
        if isinstance(event, Ranking):
            event = authenticated(event, ranking_key)
        put = build(fit_to_keep(event, privacy), record)
        if barrier is not None:
            put = barrier.blanked(put, event)
    except BadRecord:
        raise
    except Exception as error:
        # No record may stop the stream, whatever error it causes here (invariant 9).
        raise BadRecord("invalid", f"{type(error).__name__}: {error}") from error
    _check(put)
    return put


def _check(put: Put) -> None:
    """Every row has its table's columns, and every integer fits: one that does not would fail its batch for ever."""
    for table, rows in put.tables():
        for row in rows:
            if row.keys() != table.column_set:
                raise ValueError(f"a row of {table.name} with other columns: {sorted(row.keys() ^ table.column_set)}")
            for name in table.numbers:
                value = row[name]
                if value is not None and not -_BIGINT <= value < _BIGINT:
                    raise BadRecord("invalid", "a number does not fit into 64 bits")


_PARTS = {
    Key.USER_AND_DOMAIN: (str, str),
    Key.USER_AND_VERSION: (str, int),
    Key.USER_DOMAIN_AND_VERSION: (str, str, int),
}
"""The types of a compound key's parts."""


def _key_of_tombstone(topic: Topic, key: bytes | None) -> RowKey:
    try:
        if topic.key not in _PARTS:
            if key:
                return (key.decode(),)
        elif isinstance(parts := orjson.loads(key or b""), list) and tuple(map(type, parts)) == _PARTS[topic.key]:
            return tuple(parts)
    except ValueError:  # also orjson's error and UnicodeDecodeError
        pass
    raise BadRecord("invalid", f"a tombstone whose key is not {topic.key.value}")


def _item(event: Item, record: Record) -> Put:
    # Not orjson: the metadata may hold integers over 64 bits, and NaN or infinity, which are not JSON.
    metadata = to_json(event.item.metadata, inf_nan_mode="null").decode()
    return Put(
        tables.ITEMS,
        {
            "item_id": event.item.item_id,
            "domain": event.domain,
            "title": event.item.title,
            "description": event.item.description,
            "metadata": metadata,
            "event_id": event.event_id,
            "occurred_at": utc(event.occurred_at),
            **record.provenance,
        },
    )


def _interaction(event: Interaction, record: Record) -> Put:
    return Put(
        tables.INTERACTIONS,
        {
            **envelope(event),
            "domain": event.domain,
            "item_id": event.item.item_id,
            "title": event.item.title,
            **record.provenance,
        },
    )


def _receipt(event: Receipt, record: Record) -> Put:
    person = event.person
    return Put(
        tables.RECEIPTS,
        {
            "subject": event.subject,
            "forgotten_until": utc(person.until) if person else None,
            "actor": person.actor if person else None,
            "domains": len(event.domains),
            "lines": len(event.lines),
            "done": all(each.done for each in event.scopes),
            "event_id": event.event_id,
            "occurred_at": utc(event.occurred_at),
            "document": record.document,
            **record.provenance,
        },
    )


def _global_skill(event: GlobalSkill, record: Record) -> Put:
    return Put(
        tables.GLOBAL_SKILLS,
        {
            "domain": event.domain,
            "users": event.users,
            "attribute_ids": [a.attribute_id for a in event.attributes],
            "event_id": event.event_id,
            "updated_at": utc(event.occurred_at),
            "document": record.document,
            **record.provenance,
        },
    )


def _dead_letter(event: DeadLetter, record: Record) -> Put:
    source = event.source
    return Put(
        tables.DEAD_LETTERS,
        {
            "event_id": event.event_id,
            "source_logged_at": from_ms(source.timestamp_ms),
            "occurred_at": utc(event.occurred_at),
            "stage": event.stage,
            "reason": event.reason,
            "detail": event.detail,
            "source_topic": source.topic,
            "source_partition": source.partition,
            "source_offset": source.offset,
            "key": event.key,
            "value": event.value,
            **record.provenance,
        },
    )


_BUILDERS: dict[str, tuple[Table, Callable[[Any, Record], Put]]] = {
    model.TOPIC: (table, build)
    for model, table, build in (
        (Item, tables.ITEMS, _item),
        (Interaction, tables.INTERACTIONS, _interaction),
        (RankRequest, ranking_tables.RANK_REQUESTS, ranking_rows.rank_request),
        (Ranking, ranking_tables.RANKINGS, ranking_rows.ranking),
        (Selection, ranking_tables.SELECTIONS, ranking_rows.selection),
        (Feedback, feedback_tables.FEEDBACK, feedback_rows.feedback),
        (Correction, feedback_tables.CORRECTIONS, feedback_rows.correction),
        (Abstention, feedback_tables.ABSTENTIONS, feedback_rows.abstention),
        (Contrast, ranking_tables.CONTRASTS, ranking_rows.contrast),
        (SkillDiff, skill_tables.SKILL_DIFFS, skill_rows.skill_diff),
        (PolicySkill, skill_tables.SKILLS, skill_rows.skill),
        (SlimSkill, skill_tables.SLIM_SKILLS, skill_rows.slim_skill),
        (SkillCommand, skill_tables.SKILL_COMMANDS, skill_rows.skill_command),
        (CardDiff, card_tables.CARD_DIFFS, card_rows.card_diff),
        (Card, card_tables.CARDS, card_rows.card),
        (Receipt, tables.RECEIPTS, _receipt),
        (GlobalSkill, tables.GLOBAL_SKILLS, _global_skill),
        (DeadLetter, tables.DEAD_LETTERS, _dead_letter),
        (Weights, weight_tables.WEIGHTS, weight_tables.weights),
    )
}


def table_of(topic: Topic) -> Table:
    """The table that a public topic's records go into."""
    return _BUILDERS[topic.base][0]


PUBLIC_TOPICS: tuple[Topic, ...] = tuple(TOPICS[base] for base in _BUILDERS)
"""The topics that become rows."""
