"""What a person said, taken along: an import says it again, as a form would."""

from collections.abc import Callable, Sequence
from datetime import datetime

from schemas import Candidate, Correction, Directive, PolicySkill, Scope, Stance, Statement
from schemas.corrections import MAX_DIRECTIVES


def statements_of(skill: PolicySkill, at: datetime) -> list[Statement]:
    """What the person of this skill said for good and what is not over at this moment, the oldest first."""
    return [said for said in skill.stated if said.scope is Scope.ALWAYS and (said.until is None or said.until > at)]


def corrections_of(skill: PolicySkill, user: str, at: datetime, name: Callable[[str], str]) -> list[Correction]:
    """What the person of this skill said for good, the oldest first, as corrections of `user`.

    Args:
        skill: as it was exported.
        user: who receives it.
        at: the time of the import; what is over by then is left out.
        name: makes the event id of each, of what tells it from the others.
    """
    kept = statements_of(skill, at)
    parts = (kept[begin : begin + MAX_DIRECTIVES] for begin in range(0, len(kept), MAX_DIRECTIVES))
    return [
        _correction(part, user, skill.domain, at, name(f"said {skill.domain} {number}"))
        for number, part in enumerate(parts)
    ]


def _correction(said: Sequence[Statement], user: str, domain: str, at: datetime, event_id: str) -> Correction:
    items = {each.item_id: each.value for each in said if each.item_id is not None}
    return Correction.model_validate(
        {
            "event_id": event_id,
            "occurred_at": at,
            "user_id": user,
            "domain": domain,
            "items": [Candidate(item_id=item_id, title=title) for item_id, title in items.items()],
            "says": [_directive(each) for each in said],
            "scope": Scope.ALWAYS,
        }
    )


def _directive(said: Statement) -> Directive:
    if said.item_id is not None:
        return Directive(stance=said.stance, item_id=said.item_id)
    if said.bound is not None:
        return Directive(stance=said.stance, bound=said.bound)
    over = said.over.rpartition(":")[2] if said.over is not None and said.stance is Stance.INSTEAD else None
    return Directive(stance=said.stance, dimension=said.dimension, value=said.value, over=over)
