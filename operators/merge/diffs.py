"""What all ways to a diff share: how it follows the version before, a line that is new, and a reason that fits."""

from collections.abc import Mapping
from typing import Any

from operators.attributes import from_fact
from schemas import (
    MAX_ATTRIBUTES,
    Abstention,
    Change,
    ChangeKind,
    Contrast,
    Correction,
    Evidence,
    Fact,
    Feedback,
    ForgetRequest,
    Interaction,
    PolicySkill,
    SkillCommand,
    SkillDiff,
    Source,
    Tier,
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


def discovery(fact: Fact, tier: Tier, now: int, evidence: Evidence, reason: str) -> Change:
    """The change that brings in a line of which this choice is the evidence."""
    line = from_fact(fact, tier, Source.DISCOVERED, confirmed_at=now, evidence=evidence)
    return Change(
        kind=ChangeKind.DISCOVERED, attribute_id=line.attribute_id, after=tier, discovered=line, reason=reason
    )


def why(reasons: Mapping[str, str], name: str) -> str:
    """The reason for this line, cut to what a change holds; empty if there is none."""
    return reasons.get(name, "")[:300]
