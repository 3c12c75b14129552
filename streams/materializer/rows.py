"""Events to rows: pure functions, one per topic. What they return is what `store` puts into DuckDB."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import orjson
from pydantic_core import to_json

from operators.privacy import DEFAULT, Privacy
from schemas import (
    TOPICS,
    BadRecord,
    ChangeKind,
    Contrast,
    DeadLetter,
    GlobalSkill,
    Interaction,
    Item,
    Key,
    PolicySkill,
    Ranking,
    RankRequest,
    Receipt,
    Selection,
    ShadowOutcome,
    SkillCommand,
    SkillDiff,
    SlimSkill,
    Tier,
    Topic,
    decode,
)
from streams.materializer import ranking_rows, ranking_tables, shadow_tables, tables
from streams.materializer.columns import Table
from streams.materializer.forgetting import Barrier
from streams.materializer.private import fit_to_keep
from streams.materializer.records import Drop, Put, Record, Row, envelope, from_ms, utc

_BIGINT = 2**63
_BY_PERSON = (ChangeKind.ADDED, ChangeKind.REWORDED, ChangeKind.SET, ChangeKind.RESTORED, ChangeKind.FORGOTTEN)


def read(record: Record, privacy: Privacy = DEFAULT, barrier: Barrier | None = None) -> Put | Drop | None:
    """What becomes of one record; None if it is of before its user was forgotten.

    A compacted topic's record without a value is a tombstone.

    Raises:
        BadRecord: its bytes are not what the topic carries, or hold a number that no column can.
    """
    topic = record.topic
    table, build = _BUILDERS[topic.base]
    if topic.compact and record.value is None:
        return Drop(table, _key_of_tombstone(topic, record.key))
    try:
        event = decode(topic.model, record.value)
        if barrier is not None and barrier.covers(event, record.logged_at):
            return None
        put = build(fit_to_keep(event, privacy), record)
        if barrier is not None:
            put = barrier.blanked(put, event)
    except BadRecord:
        raise
    except Exception as error:
        # Whatever a record does to the code that reads it, it must not stop the stream (invariant 9).
        raise BadRecord("invalid", f"{type(error).__name__}: {error}") from error
    _check_numbers(put)
    return put


def _check_numbers(put: Put) -> None:
    """JSON has integers of any size. One of them would fail the whole batch, again and again."""
    for rows in ([put.row], *put.children):
        for row in rows:
            for value in row:
                if type(value) is int and not -_BIGINT <= value < _BIGINT:
                    raise BadRecord("invalid", "a number does not fit into 64 bits")


_PARTS = {Key.USER_AND_DOMAIN: (str, str), Key.USER_DOMAIN_AND_VERSION: (str, str, int)}
"""What the parts of a compound key are."""


def _key_of_tombstone(topic: Topic, key: bytes | None) -> Row:
    try:
        if topic.key not in _PARTS:
            if key:
                return (key.decode(),)
        elif isinstance(parts := orjson.loads(key or b""), list) and tuple(map(type, parts)) == _PARTS[topic.key]:
            return tuple(parts)
    except ValueError:  # orjson's error and UnicodeDecodeError are both one
        pass
    raise BadRecord("invalid", f"a tombstone whose key is not {topic.key.value}")


def _item(event: Item, record: Record) -> Put:
    # Not orjson: the metadata may hold integers over 64 bits, and NaN or infinity, which are no JSON.
    metadata = to_json(event.item.metadata, inf_nan_mode="null").decode()
    return Put(
        tables.ITEMS,
        (
            event.item.item_id,
            event.domain,
            event.item.title,
            event.item.description,
            metadata,
            event.event_id,
            utc(event.occurred_at),
            *record.provenance,
        ),
    )


def _interaction(event: Interaction, record: Record) -> Put:
    return Put(
        tables.INTERACTIONS,
        (*envelope(event), event.domain, event.item.item_id, event.item.title, *record.provenance),
    )


def _skill_diff(event: SkillDiff, record: Record) -> Put:
    key = (event.user_id, event.domain, event.version)
    when = (event.event_id, utc(event.occurred_at))
    seeded = [("seeded", a.attribute_id, None, str(a.tier), "") for a in event.seed or ()]
    changed = [(c.kind.value, c.attribute_id, _tier(c.before), _tier(c.after), c.reason) for c in event.changes]
    changes = [(*key, seq, *change, *when) for seq, change in enumerate(seeded + changed, start=1)]
    refusals = [
        (*key, seq, r.attribute_id, r.proposed.value, r.why.value, *when) for seq, r in enumerate(event.refused, 1)
    ]
    counts = Counter(kind for kind, *_ in seeded + changed)
    by = event.reasoned_by
    row = (
        *key,
        event.base_version,
        *when,
        event.is_contrast,
        event.evidence.event_id,
        event.evidence.item_id,
        by.reasoner,
        by.model,
        by.prompt_hash,
        by.prompt_tokens,
        by.completion_tokens,
        by.calls,
        by.latency_ms,
        by.fallback,
        *(counts[kind] for kind in tables.CHANGE_COUNTS),
        len(event.refused),
        event.analysis,
        record.document,
        *record.provenance,
        by.prompt,
        by.gated,
        sum(counts[kind.value] for kind in _BY_PERSON),
        event.frozen,
        event.rolled_back_to,
        event.rewritten,
        event.chain,
    )
    return Put(tables.SKILL_DIFFS, row, (changes, refusals), replaces=event.rewritten > 0)


def _tier(tier: Tier | None) -> str | None:
    return None if tier is None else str(tier)


def _skill(event: PolicySkill, record: Record) -> Put:
    key = (event.user_id, event.domain, event.version)
    attributes = [
        (
            *key,
            place,
            a.attribute_id,
            a.kind.value,
            a.dimension,
            a.value,
            str(a.tier),
            a.source.value,
            a.support,
            a.contradictions,
            a.confirmed_at,
            a.weakened_at,
            a.pinned,
            [e.event_id for e in a.evidence],
        )
        for place, a in enumerate(event.attributes, start=1)
    ]
    tiers = Counter(a.tier for a in event.attributes)
    row = (
        *key,
        event.contrasts,
        len(event.attributes),
        tiers[Tier.HIGH],
        tiers[Tier.MEDIUM],
        tiers[Tier.LOW],
        list(event.strategy.must_include),
        event.strategy.tie_breaker,
        event.strategy.exploration,
        event.event_id,
        utc(event.occurred_at),
        record.document,
        *record.provenance,
        event.frozen,
    )
    return Put(tables.SKILLS, row, (attributes,))


def _slim_skill(event: SlimSkill, record: Record) -> Put:
    return Put(
        tables.SLIM_SKILLS,
        (
            event.user_id,
            event.domain,
            event.skill_version,
            event.text,
            list(event.likes),
            event.style,
            event.tokens,
            event.event_id,
            utc(event.occurred_at),
            *record.provenance,
        ),
    )


def _skill_command(event: SkillCommand, record: Record) -> Put:
    did = (event.action.value, event.attribute_id, event.actor, event.reason)
    line = event.line
    value = line.value if line else event.value
    tier = _tier(line.tier if line else event.tier)
    row = (*envelope(event), event.domain, *did, *record.provenance, value, tier, event.to_version)
    return Put(tables.SKILL_COMMANDS, row)


def _receipt(event: Receipt, record: Record) -> Put:
    person = event.person
    row = (
        event.subject,
        utc(person.until) if person else None,
        person.actor if person else None,
        len(event.domains),
        len(event.lines),
        all(each.done for each in event.scopes),
        event.event_id,
        utc(event.occurred_at),
        record.document,
        *record.provenance,
    )
    return Put(tables.RECEIPTS, row)


def _global_skill(event: GlobalSkill, record: Record) -> Put:
    attribute_ids = [a.attribute_id for a in event.attributes]
    when = (event.event_id, utc(event.occurred_at))
    return Put(
        tables.GLOBAL_SKILLS,
        (event.domain, event.users, attribute_ids, *when, record.document, *record.provenance),
    )


def _dead_letter(event: DeadLetter, record: Record) -> Put:
    source = event.source
    return Put(
        tables.DEAD_LETTERS,
        (
            event.event_id,
            from_ms(source.timestamp_ms),
            utc(event.occurred_at),
            event.stage,
            event.reason,
            event.detail,
            source.topic,
            source.partition,
            source.offset,
            event.key,
            event.value,
            *record.provenance,
        ),
    )


_BUILDERS: dict[str, tuple[Table, Callable[[Any, Record], Put]]] = {
    model.TOPIC: (table, build)
    for model, table, build in (
        (Item, tables.ITEMS, _item),
        (Interaction, tables.INTERACTIONS, _interaction),
        (RankRequest, ranking_tables.RANK_REQUESTS, ranking_rows.rank_request),
        (Ranking, ranking_tables.RANKINGS, ranking_rows.ranking),
        (Selection, ranking_tables.SELECTIONS, ranking_rows.selection),
        (Contrast, ranking_tables.CONTRASTS, ranking_rows.contrast),
        (SkillDiff, tables.SKILL_DIFFS, _skill_diff),
        (PolicySkill, tables.SKILLS, _skill),
        (SlimSkill, tables.SLIM_SKILLS, _slim_skill),
        (SkillCommand, tables.SKILL_COMMANDS, _skill_command),
        (Receipt, tables.RECEIPTS, _receipt),
        (GlobalSkill, tables.GLOBAL_SKILLS, _global_skill),
        (DeadLetter, tables.DEAD_LETTERS, _dead_letter),
        (ShadowOutcome, shadow_tables.SHADOW_OUTCOMES, shadow_tables.shadow_outcome),
    )
}

PUBLIC_TOPICS: tuple[Topic, ...] = tuple(TOPICS[base] for base in _BUILDERS)
"""The topics that become rows: all of the registry that are not internal (a test says so)."""
