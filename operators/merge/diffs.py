"""The diff that follows a version of a skill."""

from typing import Any

from schemas import (
    MAX_ATTRIBUTES,
    Abstention,
    Contrast,
    Correction,
    Feedback,
    ForgetRequest,
    Interaction,
    PolicySkill,
    SkillCommand,
    SkillDiff,
)

MAX_REFUSED = 4 * MAX_ATTRIBUTES


def next_diff(
    skill: PolicySkill,
    event: Contrast | Interaction | SkillCommand | ForgetRequest | Feedback | Correction | Abstention,
    **found: Any,
) -> SkillDiff:
    """The diff that leads from this version to the next; the first one carries the seed.

    Of all that was refused it tells as much as a diff holds: a choice of a hundred items brings in thousands of facts.
    """
    found["refused"] = tuple(found.get("refused", ()))[:MAX_REFUSED]
    return SkillDiff(
        event_id=event.event_id,
        occurred_at=event.occurred_at,
        user_id=skill.user_id,
        domain=skill.domain,
        base_version=skill.version,
        version=skill.version + 1,
        seed=skill.attributes if skill.version == 0 else None,
        seeded_from=skill.applied if skill.version == 0 else (),
        rewritten=skill.rewritten,
        **found,
    )
