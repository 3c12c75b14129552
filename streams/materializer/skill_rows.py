"""Rows of skills: their diffs, current state, slim form and the commands of people."""

from collections import Counter

from schemas import ONE, Change, ChangeKind, Heard, PolicySkill, SkillCommand, SkillDiff, SlimSkill, Tally, Tier
from streams.materializer import skill_tables as tables
from streams.materializer import stated_rows
from streams.materializer.records import Put, Record, Row, envelope, reasoned, utc

_BY_PERSON = (ChangeKind.ADDED, ChangeKind.REWORDED, ChangeKind.SET, ChangeKind.RESTORED, ChangeKind.FORGOTTEN)


def skill_diff(event: SkillDiff, record: Record) -> Put:
    """One version of a skill, with one row per change and per refused proposal."""
    key = {
        "user_id": event.user_id,
        "domain": event.domain,
        "version": event.version,
        "event_id": event.event_id,
        "occurred_at": utc(event.occurred_at),
    }
    changes = _changes(event, key)
    counts = Counter(change["kind"] for change in changes)
    row = {
        **key,
        "base_version": event.base_version,
        "is_contrast": event.is_contrast,
        "evidence_event_id": event.evidence.event_id,
        "evidence_item_id": event.evidence.item_id,
        **reasoned(event.reasoned_by),
        **{kind: counts[kind] for kind in tables.CHANGE_COUNTS},
        "refused": len(event.refused),
        "analysis": event.analysis,
        "document": record.document,
        **record.provenance,
        "by_person": sum(counts[kind.value] for kind in _BY_PERSON),
        "frozen": event.frozen,
        "rolled_back_to": event.rolled_back_to,
        "rewritten": event.rewritten,
        "chain": event.chain,
        **_heard(event.heard),
        "taste_changed": event.shifted,
        "statements": len(event.stated),
        "shifted": counts[ChangeKind.SHIFTED.value],
        "faded": counts[ChangeKind.FADED.value],
        "session_id": event.session and event.session.session_id,
    }
    children = (changes, _refusals(event, key), _places(event, key), stated_rows.statement_changes(event))
    return Put(tables.SKILL_DIFFS, row, children, replaces=event.rewritten > 0)


def _heard(heard: Heard | None) -> Row:
    """What a version answers, where it is no choice and no command."""
    return {
        "heard": heard and heard.what,
        "understood": heard and heard.understood,
        "words": heard and heard.words,
        "value": heard and heard.value,
        "by_pattern": heard and heard.by_pattern,
    }


def _changes(event: SkillDiff, key: Row) -> list[Row]:
    seeded = [
        {
            "kind": "seeded",
            "attribute_id": a.attribute_id,
            "before": None,
            "after": str(a.tier),
            "reason": "",
            "taken": a.taken / ONE,
            "expected": a.expected / ONE,
        }
        for a in event.seed or ()
    ]
    changed = [_change(change, event.tally) for change in event.changes]
    return [{**key, "seq": seq, **change} for seq, change in enumerate(seeded + changed, start=1)]


def _change(change: Change, tally: Tally | None) -> Row:
    taken, expected = _added(change, tally)
    return {
        "kind": change.kind.value,
        "attribute_id": change.attribute_id,
        "before": _tier(change.before),
        "after": _tier(change.after),
        "reason": change.reason,
        "taken": taken,
        "expected": expected,
    }


def _added(change: Change, tally: Tally | None) -> tuple[float | None, float | None]:
    """What was added to a line's counts, in choices; of a new line, or one that a person set, its counts."""
    if change.discovered is not None:
        counts = change.discovered.taken, change.discovered.expected
    elif change.counts is not None:
        counts = change.counts
    elif tally is None:
        return None, None
    else:
        counts = tally.lines.get(change.attribute_id, (0, 0))
    return counts[0] / ONE, counts[1] / ONE


def _places(event: SkillDiff, key: Row) -> list[Row]:
    places = event.tally.places if event.tally is not None else {}
    return [{**key, "attribute_id": name, "places": moved / ONE} for name, moved in places.items()]


def _refusals(event: SkillDiff, key: Row) -> list[Row]:
    return [
        {
            **key,
            "seq": seq,
            "attribute_id": refused.attribute_id,
            "proposed": refused.proposed.value,
            "why": refused.why.value,
        }
        for seq, refused in enumerate(event.refused, start=1)
    ]


def _tier(tier: Tier | None) -> str | None:
    return None if tier is None else str(tier)


def skill(event: PolicySkill, record: Record) -> Put:
    """The current skill, with one row per attribute."""
    tiers = Counter(a.tier for a in event.attributes)
    row = {
        "user_id": event.user_id,
        "domain": event.domain,
        "version": event.version,
        "contrasts": event.contrasts,
        "attributes": len(event.attributes),
        "high": tiers[Tier.HIGH],
        "medium": tiers[Tier.MEDIUM],
        "low": tiers[Tier.LOW],
        "must_include": list(event.strategy.must_include),
        "tie_breaker": event.strategy.tie_breaker,
        "event_id": event.event_id,
        "updated_at": utc(event.occurred_at),
        "document": record.document,
        **record.provenance,
        "frozen": event.frozen,
        "silent": tiers[Tier.SILENT],
        "statements": len(event.stated),
        "shifted": event.shifted,
    }
    children = (
        _attributes(event),
        stated_rows.statements(event),
        stated_rows.sessions(event),
        stated_rows.session_lines(event),
    )
    return Put(tables.SKILLS, row, children)


def _attributes(event: PolicySkill) -> list[Row]:
    return [
        {
            "user_id": event.user_id,
            "domain": event.domain,
            "version": event.version,
            "place": place,
            "attribute_id": a.attribute_id,
            "kind": a.kind.value,
            "dimension": a.dimension,
            "value": a.value,
            "tier": str(a.tier),
            "source": a.source.value,
            "support": a.support,
            "contradictions": a.contradictions,
            "confirmed_at": a.confirmed_at,
            "weakened_at": a.weakened_at,
            "pinned": a.pinned,
            "evidence_event_ids": [evidence.event_id for evidence in a.evidence],
            "taken": a.taken / ONE,
            "expected": a.expected / ONE,
            "gained": a.gained / ONE,
            "drift": a.drift / ONE,
        }
        for place, a in enumerate(event.attributes, start=1)
    ]


def slim_skill(event: SlimSkill, record: Record) -> Put:
    """The current slim skill."""
    return Put(
        tables.SLIM_SKILLS,
        {
            "user_id": event.user_id,
            "domain": event.domain,
            "skill_version": event.skill_version,
            "text": event.text,
            "likes": list(event.likes),
            "style": event.style,
            "tokens": event.tokens,
            "event_id": event.event_id,
            "updated_at": utc(event.occurred_at),
            **record.provenance,
            "seal": event.seal,
            "avoids": list(event.avoids),
            "session_id": event.session_id,
            "session_until": event.session_until and utc(event.session_until),
            "now": list(event.now),
            "session_text": event.session_text,
        },
    )


def skill_command(event: SkillCommand, record: Record) -> Put:
    """What a person did to a skill."""
    line = event.line
    return Put(
        tables.SKILL_COMMANDS,
        {
            **envelope(event),
            "domain": event.domain,
            "action": event.action.value,
            "attribute_id": event.attribute_id,
            "actor": event.actor,
            "reason": event.reason,
            **record.provenance,
            "value": line.value if line else event.value,
            "tier": _tier(line.tier if line else event.tier),
            "to_version": event.to_version,
        },
    )
