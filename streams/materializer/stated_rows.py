"""Rows of what skills hold of people's own words and of their sessions."""

from schemas import ONE, PolicySkill, SkillDiff, Statement
from streams.materializer.records import Row, utc
from streams.materializer.stated_tables import STATEMENT

_GONE: Row = {column.name: None for column in STATEMENT}


def statements(event: PolicySkill) -> list[Row]:
    """What the person said, as the skill holds it now."""
    return [
        {
            **_key(event),
            "place": place,
            "statement_id": said.statement_id,
            **_statement(said),
            "doubtful": said.since < event.shifted,
        }
        for place, said in enumerate(event.stated, start=1)
    ]


def statement_changes(event: SkillDiff) -> list[Row]:
    """What one version brought, replaced or took of it."""
    return [
        {
            **_key(event),
            "seq": seq,
            "kind": change.kind.value,
            "statement_id": change.statement_id,
            "reason": change.reason,
            **(_GONE if change.statement is None else _statement(change.statement)),
            "event_id": event.event_id,
            "occurred_at": utc(event.occurred_at),
        }
        for seq, change in enumerate(event.stated, start=1)
    ]


def sessions(event: PolicySkill) -> list[Row]:
    """The skill's newest sessions."""
    return [
        {
            **_key(event),
            "place": place,
            "session_id": each.session_id,
            "last_at": utc(each.last_at),
            "until": utc(each.until),
            "events": each.events,
        }
        for place, each in enumerate(event.sessions, start=1)
    ]


def session_lines(event: PolicySkill) -> list[Row]:
    """What was taken in them."""
    return [
        {
            **_key(event),
            "session_id": each.session_id,
            "attribute_id": line.attribute_id,
            "dimension": line.dimension,
            "value": line.value,
            "taken": line.taken / ONE,
            "expected": line.expected / ONE,
        }
        for each in event.sessions
        for line in each.lines
    ]


def _key(event: PolicySkill | SkillDiff) -> Row:
    return {"user_id": event.user_id, "domain": event.domain, "version": event.version}


def _statement(said: Statement) -> Row:
    bound = said.bound
    return {
        "stance": said.stance.value,
        "attribute_id": said.attribute_id,
        "dimension": said.dimension,
        "value": said.value,
        "over": said.over,
        "item_id": said.item_id,
        "measure": bound and bound.measure.value,
        "above": bound and bound.above,
        "below": bound and bound.below,
        "words": said.words,
        "scope": said.scope.value,
        "session_id": said.session_id,
        "said_at": utc(said.said_at),
        "until": said.until and utc(said.until),
        "since": said.since,
        "times": said.times,
        "evidence_event_id": said.evidence.event_id,
        "evidence_item_id": said.evidence.item_id,
    }
