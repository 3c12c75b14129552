"""Signals on items, and lists without a choice (invariants 5 and 6)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from operators.attributes import fact_ids
from operators.evolve.proposals import COUNTS
from operators.fit.acceptance import update_beliefs
from operators.language.privacy import Privacy
from operators.learning.evidence import ListEvidence, inactivity_decay
from operators.learning.lesson import lesson_of, visit_evidence
from operators.learning.limits import DEFAULT_LIMITS, MergeLimits
from operators.learning.statements import StatementSubject, StatementUpdate, expired_statements, updated_session
from operators.learning.tiers import TierUpdate
from operators.learning.update import EvidenceUpdate
from operators.options import EvolveMode
from operators.stated import item_attribute, live_statements, statement_id
from schemas import ONE, DiffTrigger, Evidence, ItemFacts, PolicySkill, Position, Provenance, SkillDiff
from schemas.events import BEST, WORST, Abstention, Feedback, Signal
from schemas.statements import Scope, Stance

# A longer look counts no more.
FULL_DWELL_SECONDS = 60.0
# From this weight down, a signal against an item is a statement that avoids it.
STATEMENT_WEIGHT = 0.75
# The greatest weights of the known signals; of a rating, that of its best and its worst.
SIGNAL_WEIGHTS: Mapping[str, float] = {
    Signal.LIKED: 0.75,
    Signal.DISLIKED: -0.75,
    Signal.RATED: 1.0,
    Signal.SAVED: 0.5,
    Signal.HIDDEN: -0.75,
    Signal.SKIPPED: -0.1,
    Signal.DWELLED: 0.25,
    Signal.PURCHASED: 1.0,
    Signal.RETURNED: -1.0,
}
# Weaker signals confirm lines but discover none: a look is not a choice.
_DISCOVERY_WEIGHT = ONE // 4
PERSON = Provenance(reasoner="what the person says")


@dataclass(frozen=True)
class SignalWeights:
    """The weights of a deployment, by kind, from -1 to 1."""

    weights: Mapping[str, float] = field(default_factory=lambda: SIGNAL_WEIGHTS, hash=False)

    @classmethod
    def of(cls, overrides: Mapping[str, float]) -> "SignalWeights":
        """Add or replace weights; raise ValueError outside -1 to 1."""
        if wrong := sorted(name for name, weight in overrides.items() if not -1.0 <= weight <= 1.0):
            raise ValueError(f"the weight of {', '.join(wrong)} must be between -1 and 1")
        return cls({**SIGNAL_WEIGHTS, **overrides})

    def weight_of(self, feedback: Feedback) -> float | None:
        """Return a signal's weight; None for an unknown kind.

        >>> from datetime import datetime, timezone
        >>> stars = Feedback(event_id="1", occurred_at=datetime(2026, 1, 1, tzinfo=timezone.utc), user_id="ann",
        ...     domain="films", item={"item_id": "alien"}, signal="rated", value=2)
        >>> SignalWeights().weight_of(stars), SignalWeights().weight_of(stars.model_copy(update={"signal": "shared"}))
        (-0.5, None)
        """
        weight = self.weights.get(feedback.signal)
        if weight is None or feedback.value is None:
            return weight
        if feedback.signal == Signal.RATED:
            worst, best = feedback.scale or (WORST, BEST)
            return weight * (2.0 * (feedback.value - worst) / (best - worst) - 1.0)
        if feedback.signal == Signal.DWELLED:
            return weight * min(feedback.value / FULL_DWELL_SECONDS, 1.0)
        return weight


DEFAULT_SIGNALS = SignalWeights()


def resolve_feedback(
    skill: PolicySkill,
    feedback: Feedback,
    item: ItemFacts,
    signed_weight: float,
    source: Position | None = None,
    usual: Mapping[str, int] | None = None,
    limits: MergeLimits = DEFAULT_LIMITS,
    *,
    privacy: Privacy,
    mode: EvolveMode = EvolveMode.EVIDENCE,
) -> SkillDiff:
    """Return the diff of a signal: a visit's counts, weighted and signed, or a step of tiers in its direction.

    A negative signal weakens the item's lines only; its other facts are not evidence (invariant 5).
    """
    evidence = Evidence(event_id=feedback.event_id, item_id=item.item_id)
    weight = round(abs(signed_weight) * ONE)
    found: EvidenceUpdate | TierUpdate
    shown = None
    if mode is EvolveMode.PAPER:
        found = TierUpdate(skill, evidence, limits)
        found.signal((item,), signed_weight)
    else:
        found, shown = EvidenceUpdate(skill, evidence, limits, usual or {}), _list_of(skill, item, signed_weight, usual)
        if weight:
            facts = item.facts if signed_weight > 0 and weight >= _DISCOVERY_WEIGHT else ()
            aged = inactivity_decay(skill, feedback.occurred_at)
            found.count(facts, shown, skill.contrasts, weight=weight, aged=aged)
    saying = StatementUpdate(skill, feedback, evidence, source, limits.session)
    suits = (item,) if signed_weight >= STATEMENT_WEIGHT else ()
    fails = (item,) if signed_weight <= -STATEMENT_WEIGHT else ()
    if fails:
        subject = StatementSubject.item(item.item_id, item.title).hide_private_title(feedback.domain, privacy)
        saying.state(Stance.AVOIDS, subject, "", Scope.ALWAYS)
    elif suits:
        saying.withdraw(statement_id(Stance.AVOIDS, item_attribute(item.item_id)), f"{feedback.signal} since")
    beliefs = None
    if fails or (suits and skill.beliefs):
        said_before = live_statements(skill, feedback.occurred_at, feedback.session_id)
        beliefs = update_beliefs(skill, said_before, suited=suits, refused=fails)
    taken = (item,) if signed_weight > 0 else ()
    return found.diff(
        feedback,
        stated=tuple(saying.changes),
        beliefs=beliefs,
        session=updated_session(skill, feedback, source, limits.session, taken, shown, weight),
        trigger=DiffTrigger(what=feedback.signal, value=feedback.value),
        reasoned_by=COUNTS,
        source=source,
    )


def _list_of(
    skill: PolicySkill, item: ItemFacts, signed_weight: float, usual: Mapping[str, int] | None
) -> ListEvidence:
    if signed_weight > 0:
        return visit_evidence(skill, (item,), usual)
    # A rejected item is a list of two whose other half was taken.
    names = fact_ids(item.facts)
    left, sure = dict.fromkeys(names, ONE // 2), dict.fromkeys(names, ONE)
    return ListEvidence((), left, places=dict.fromkeys(names, (1,)), size=2, chances=sure)


def resolve_abstention(
    skill: PolicySkill,
    abstention: Abstention,
    source: Position | None = None,
    usual: Mapping[str, int] | None = None,
    limits: MergeLimits = DEFAULT_LIMITS,
    *,
    mode: EvolveMode = EvolveMode.EVIDENCE,
) -> SkillDiff:
    """Return the diff of a list without a choice: the person preferred none to its items.

    In `paper` mode it moves no tier: an unchosen item is not a disliked one.
    """
    said_before = live_statements(skill, abstention.occurred_at, abstention.session_id)
    evidence = Evidence(event_id=abstention.event_id)
    found: EvidenceUpdate | TierUpdate
    if mode is EvolveMode.PAPER:
        found = TierUpdate(skill, evidence, limits)
    else:
        found = EvidenceUpdate(skill, evidence, limits, usual or {})
        lesson, aged = lesson_of(skill, abstention), inactivity_decay(skill, abstention.occurred_at)
        found.count(
            lesson.common_left, lesson.shown, skill.contrasts, aged=aged, numbers=lesson.numbers, forgets=lesson.forgets
        )
    return found.diff(
        abstention,
        stated=expired_statements(skill, abstention, source),
        beliefs=update_beliefs(skill, said_before, suited=(), refused=abstention.shown),
        session=updated_session(skill, abstention, source, limits.session),
        trigger=DiffTrigger(what="abstention"),
        reasoned_by=PERSON,
        source=source,
    )
