"""The end of statements and sessions."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from operators.attributes import fact_id, fact_ids
from operators.clocks import after, is_ahead, is_later
from operators.evidence import MOST, Shown
from operators.stated import SESSION, is_doubtful, is_over, session_on, speaks_against
from schemas import ONE, ItemFacts, PolicySkill, Said, Scope, Session, SessionLine, StatementChange
from schemas.sessions import MAX_SESSION_LINES


def ended(
    skill: PolicySkill,
    at: datetime,
    taken: Sequence[ItemFacts] | None = None,
    *,
    logged_at: datetime | None = None,
) -> tuple[StatementChange, ...]:
    """The statements that end with an event; they said nothing any more from their time on, with or without it.

    Args:
        skill: before the event.
        at: when it happened.
        taken: what was chosen, if it is a choice: `now` is over with it, and who takes what they may not want any
            less, since their taste has changed, has taken that back.
        logged_at: when Kafka logged it; None where that is not known.
    """
    gone = []
    for said in skill.stated:
        # A choice that comes late was made before what was said since.
        is_since = taken is not None and not is_later(said.said_at, at, logged_at)
        if is_over(skill, said, at) or (is_since and said.scope is Scope.NOW):
            gone.append(StatementChange(kind=Said.EXPIRED, statement_id=said.statement_id))
        elif (
            taken
            and is_since
            and is_doubtful(skill, said)
            and any(speaks_against(said, i, fact_ids(i.facts)) for i in taken)
        ):
            reason = "taken again since their taste has changed"
            gone.append(StatementChange(kind=Said.WITHDRAWN, statement_id=said.statement_id, reason=reason))
    return tuple(gone)


def session_after(
    skill: PolicySkill,
    session_id: str | None,
    at: datetime,
    taken: Sequence[ItemFacts] = (),
    shown: Shown | None = None,
    weight: int = ONE,
    *,
    lasts: timedelta = SESSION,
    logged_at: datetime | None = None,
) -> Session | None:
    """The session after an event of it; None for an event of none, or of one that is long over.

    A session that is over begins anew: an id that comes back after hours is not the same visit any more.
    """
    if session_id is None:
        return None
    held = session_on(skill, session_id, at)
    if held is None and any(is_later(each.last_at, after(at, lasts), logged_at) for each in skill.sessions):
        return None  # it comes so late that it was over before one that is kept: that one stays
    lines = {} if held is None else {line.attribute_id: line for line in held.lines}
    names = dict.fromkeys(shown.taken) if shown is not None else {}
    facts = {fact_id(fact): fact for item in taken for fact in item.facts}
    for name in names:
        if name in facts and name not in lines:
            lines[name] = SessionLine(attribute_id=name, dimension=facts[name].dimension, value=facts[name].value)
    if shown is not None:
        lines = {name: _counted(line, shown, weight) for name, line in lines.items()}
    kept = sorted(lines.values(), key=lambda line: (-line.taken, line.expected, line.attribute_id))
    is_ours = held is not None and not (logged_at is not None and is_ahead(held.last_at, logged_at))
    last = max(held.last_at, at) if held is not None and is_ours else at
    return Session(
        session_id=session_id,
        last_at=last,
        until=after(last, lasts),
        events=1 if held is None else held.events + 1,
        lines=tuple(kept[:MAX_SESSION_LINES]),
    )


def _counted(line: SessionLine, shown: Shown, weight: int) -> SessionLine:
    name = line.attribute_id
    taken = (shown.part(name) if name in shown.taken else 0) * weight // ONE
    expected = shown.shares.get(name, 0) * weight // ONE
    if not (taken or expected):
        return line
    counts = {"taken": min(line.taken + taken, MOST), "expected": min(line.expected + expected, MOST)}
    return line.model_copy(update=counts)
