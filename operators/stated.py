"""Statements of a person: validity, and effect on items (invariant 5)."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from operators.attributes import RankedLine, bounded_id, fact_ids, normalise
from operators.language.answers import describe_answers
from schemas import (
    Bound,
    ItemFacts,
    PolicySkill,
    Scope,
    SkillSession,
    Stance,
    Statement,
    derived_id,
    is_answer_style,
)

# The longest validity of a statement for now; the next choice ends it earlier.
NOW_DURATION = timedelta(minutes=30)
# A session ends after two hours without an event.
SESSION_SILENCE = timedelta(hours=2)
# The dimension of statements about one item.
ITEM = "item"

LineT = TypeVar("LineT", bound=RankedLine)


def statement_id(stance: Stance, attribute_id: str) -> str:
    """Return the id of a statement, the same for a repetition.

    >>> statement_id(Stance.AVOIDS, "preference:genre:horror")
    'avoids:preference:genre:horror'
    """
    return bounded_id(f"{stance.value}:{attribute_id}")


def item_attribute(item_id: str) -> str:
    """Return the attribute id of a statement about one item.

    >>> item_attribute("Arrival 2016")
    'item:item:arrival-2016-9993477f2e3ae75e'
    """
    return bounded_id(f"{ITEM}:{ITEM}:{normalise(item_id)[:60]}-{derived_id(item_id)[:16]}")


def bound_attribute(bound: Bound) -> str:
    """Return the id of a bound, one per measure and side.

    >>> from schemas import Measure
    >>> bound_attribute(Bound(measure=Measure.PRICE, below=20))
    'bound:price:below'
    """
    sides = "-".join(side for side, limit in (("above", bound.above), ("below", bound.below)) if limit is not None)
    return f"bound:{bound.measure}:{sides or 'none'}"


def describe_statement(statement: Statement) -> str:
    """Return a statement as text, such as `avoids horror (genre)`."""
    if statement.over is not None:
        return f"wants {statement.value} instead of {statement.over.split(':', 2)[-1]} ({statement.dimension})"
    if wish := describe_answers(statement.dimension, statement.value):
        return f"wants {wish}"
    verb = "avoids" if statement.stance is Stance.AVOIDS else "prefers"
    return f"{verb} {statement.value} ({statement.dimension})"


def live_statements(skill: PolicySkill, now: datetime, session_id: str | None = None) -> tuple[Statement, ...]:
    """Return the statements that hold at this moment, in this session."""
    return tuple(
        [each for each in skill.stated if each.session_id in (None, session_id) and not is_expired(skill, each, now)]
    )


def lasting_statements(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Return the permanent statements, for views without a clock."""
    return tuple([each for each in statements if each.scope is Scope.ALWAYS])


def avoided_ids(statements: Iterable[Statement]) -> frozenset[str]:
    """Return the ids of the attributes that these statements avoid."""
    return frozenset([each.attribute_id for each in statements if each.stance is Stance.AVOIDS and each.bound is None])


def without_avoided(lines: Sequence[LineT], statements: Sequence[Statement]) -> Sequence[LineT]:
    """Return the lines that none of these statements avoids.

    This is a view (invariant 5): an avoided line keeps its counts and its tier, and returns once the statement ends.
    """
    if not statements or not (silent := avoided_ids(statements)):
        return lines
    return tuple([line for line in lines if line.attribute_id not in silent])


def is_doubtful(skill: PolicySkill, statement: Statement) -> bool:
    """Return True if the person's taste has changed since the statement."""
    is_of_answers = is_answer_style(statement.dimension, statement.value)
    return statement.since < skill.shifted and not is_of_answers


def is_expired(skill: PolicySkill, statement: Statement, now: datetime) -> bool:
    """Return True if a statement's time or session is over."""
    if statement.until is not None:
        return statement.until <= now
    return statement.session_id is not None and live_session(skill, statement.session_id, now) is None


def live_session(skill: PolicySkill, session_id: str | None, now: datetime) -> SkillSession | None:
    """Return the session of this id, if it is on."""
    return next((each for each in skill.sessions if each.session_id == session_id and each.until > now), None)


def remaining_share(session: SkillSession, now: datetime) -> float:
    """Return the share of a session's closing silence that is left, from 1 to 0."""
    silence = (session.until - session.last_at).total_seconds()
    left = (session.until - now).total_seconds() / silence if silence > 0 else 0.0
    return min(max(left, 0.0), 1.0)


def rejects(statement: Statement, item: ItemFacts, names: Iterable[str]) -> bool:
    """True if a statement rejects an item with these fact ids."""
    if statement.bound is not None:
        return _breaks(statement.bound, item) is (statement.stance is not Stance.AVOIDS)
    if statement.stance is not Stance.AVOIDS:
        return False
    return item.item_id == statement.item_id if statement.item_id is not None else statement.attribute_id in names


def is_free(bound: Bound) -> bool:
    """True if a bound has no limit: its measure does not matter to the person."""
    return bound.above is None and bound.below is None


def _breaks(bound: Bound, item: ItemFacts) -> bool | None:
    # True if an item is outside a bound; None if it has no such measure, or the bound no limit.
    amount = item.measures.get(bound.measure)
    if amount is None or is_free(bound):
        return None
    return (bound.above is not None and amount <= bound.above) or (bound.below is not None and amount >= bound.below)


def statements_for(item: ItemFacts, statements: Sequence[Statement]) -> list[tuple[Statement, int]]:
    """Return the statements for an item (1) and for its alternative (-1)."""
    if not statements:
        return []
    names = set(fact_ids(item.facts))
    found = []
    for each in statements:
        if each.stance is Stance.AVOIDS or each.bound is not None:
            continue
        if each.attribute_id in names or (each.item_id is not None and each.item_id == item.item_id):
            found.append((each, 1))
        elif each.over is not None and each.over in names:
            found.append((each, -1))
    return found
