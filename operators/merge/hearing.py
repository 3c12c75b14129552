"""What a signal on an item does to a skill: the same counts as a visit's, by the signal's weight and sign."""

from collections.abc import Mapping

from operators.attributes import fact_ids
from operators.clocks import kafka_time
from operators.drift import away
from operators.evidence import Shown
from operators.evolve.reasoners import COUNTS
from operators.fit import learned
from operators.merge.counting import Counting, visited
from operators.merge.diffs import next_diff
from operators.merge.room import DEFAULT_LIMITS, MergeLimits
from operators.merge.statements import Saying, Subject, session_after
from operators.privacy import Privacy
from operators.signals import STRONG
from operators.stated import item_attribute, live, statement_id
from schemas import ONE, Evidence, Feedback, Heard, ItemFacts, PolicySkill, Position, Scope, SkillDiff, Stance, Tally

_ENOUGH = ONE // 4
"""A weaker signal confirms lines and brings in none: who looked has not taken."""


def resolve_feedback(
    skill: PolicySkill,
    feedback: Feedback,
    item: ItemFacts,
    worth: float,
    source: Position | None = None,
    usual: Mapping[str, int] | None = None,
    limits: MergeLimits = DEFAULT_LIMITS,
    *,
    privacy: Privacy,
) -> SkillDiff:
    """What a signal does to this skill.

    A negative signal weakens the lines that the item has, and says nothing about other facts of it (invariant 5).
    """
    evidence = Evidence(event_id=feedback.event_id, item_id=item.item_id)
    weight = round(abs(worth) * ONE)
    found = Counting(skill, evidence, limits, usual or {})
    shown = visited(item, usual) if worth > 0 else Shown((), dict.fromkeys(fact_ids(item.facts), ONE))
    if weight:
        facts = item.facts if worth > 0 and weight >= _ENOUGH else ()
        found.count(facts, shown, skill.contrasts, weight=weight, aged=away(skill, feedback.occurred_at))
    logged_at = kafka_time(source)
    saying = Saying(skill, feedback.occurred_at, evidence, session=limits.session, logged_at=logged_at)
    refused = worth <= -STRONG
    if refused:
        subject = Subject.item(item.item_id, item.title).untitled(feedback.domain, privacy)
        saying.state(Stance.AVOIDS, subject, "", Scope.ALWAYS)
    elif worth >= STRONG:
        saying.take_back(statement_id(Stance.AVOIDS, item_attribute(item.item_id)), f"{feedback.signal} since")
    suits, fails = ((item,), ()) if worth >= STRONG else ((), (item,)) if refused else ((), ())
    learns = (suits and skill.beliefs) or fails
    at, session_id = feedback.occurred_at, feedback.session_id
    return next_diff(
        skill,
        feedback,
        tally=found.tally if weight else Tally(),
        changes=tuple(found.changes),
        stated=tuple(saying.changes),
        beliefs=learned(skill, live(skill, at, session_id), suited=suits, refused=fails) if learns else None,
        session=session_after(
            skill,
            session_id,
            at,
            (item,) if worth > 0 else (),
            shown,
            weight,
            lasts=limits.session,
            logged_at=logged_at,
        ),
        heard=Heard(what=feedback.signal, value=feedback.value),
        refused=tuple(found.refused),
        evidence=evidence,
        is_contrast=False,
        reasoned_by=COUNTS,
        source=source,
    )
