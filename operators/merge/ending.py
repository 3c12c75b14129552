"""How what a person said comes to its end: by the time, by a choice, or since they have taken it back."""

from collections.abc import Sequence
from datetime import datetime

from operators.attributes import fact_ids
from operators.clocks import is_later
from operators.stated import is_doubtful, is_over, speaks_against
from schemas import ItemFacts, PolicySkill, Said, Scope, StatementChange


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
