"""Signals, corrections and abstentions of people (invariants 5 and 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from operators.attributes import fact_ids
from operators.evolve.proposals import COUNTS, refused_change
from operators.fit import update_beliefs
from operators.language.corrections import COUNTS_AS_CHOICE, LEARNING_STOPPED, SUPERSEDED, explanation
from operators.language.ports import Interpretation, ReadDirective, TasteOwner
from operators.language.privacy import Privacy
from operators.learning.evidence import STATED_DRIFT_ROUNDS, ListEvidence, inactivity_decay
from operators.learning.fold import next_diff
from operators.learning.statements import StatementSubject, StatementUpdate, expired_statements, updated_session
from operators.learning.tiers import DEFAULT_LIMITS, MergeLimits
from operators.learning.update import EvidenceUpdate, visit_evidence
from operators.prompts import visible
from operators.signals import STATEMENT_WEIGHT
from operators.stated import item_attribute, live_statements, rejects, statement_id
from schemas.base import Position, Provenance
from schemas.diffs import (
    CountDelta,
    DiffTrigger,
    PolicySkill,
    RefusalReason,
    RefusedProposal,
    SkillChangeKind,
    SkillDiff,
)
from schemas.events import Abstention, Feedback
from schemas.items import Fact, ItemFacts
from schemas.skills import ONE, Evidence
from schemas.statements import MAX_WORDS, Correction, Scope, Stance, StatementChangeKind

# Reports of a changed taste within 64 versions are about one change: people report it piece by piece.
SHIFT_COOLDOWN = 64
# Weaker signals confirm lines but discover none: a look is not a choice.
_DISCOVERY_WEIGHT = ONE // 4
_CORRECTION, _PERSON, _OF_ANOTHER = "correction", "what the person says", "about somebody else"
_SUITS = "the person says that an item with it suits"


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
) -> SkillDiff:
    """Return the diff of a signal: a visit's counts, weighted and signed.

    A negative signal weakens the item's lines only; its other facts are not evidence (invariant 5).
    """
    evidence = Evidence(event_id=feedback.event_id, item_id=item.item_id)
    weight = round(abs(signed_weight) * ONE)
    found = EvidenceUpdate(skill, evidence, limits, usual or {})
    shown = (
        visit_evidence(item, usual) if signed_weight > 0 else ListEvidence((), dict.fromkeys(fact_ids(item.facts), ONE))
    )
    if weight:
        facts = item.facts if signed_weight > 0 and weight >= _DISCOVERY_WEIGHT else ()
        found.count(facts, shown, skill.contrasts, weight=weight, aged=inactivity_decay(skill, feedback.occurred_at))
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


def resolve_correction(
    skill: PolicySkill,
    correction: Correction,
    items: Sequence[ItemFacts],
    understood: Interpretation,
    source: Position | None = None,
    usual: Mapping[str, int] | None = None,
    limits: MergeLimits = DEFAULT_LIMITS,
    *,
    privacy: Privacy,
    learns: bool = True,
) -> SkillDiff:
    """Return the diff of a correction."""
    evidence, usual = Evidence(event_id=correction.event_id, item_id=correction.item_id), usual or {}
    saying = StatementUpdate(skill, correction, evidence, source, limits.session)
    counting = EvidenceUpdate(skill, evidence, limits, usual)
    update = _CorrectionUpdate(skill, correction, items, privacy, usual, learns, saying, counting)
    for read in understood.directives:
        update.apply(read)
    shifted = update.has_changed and (not skill.shifted or skill.version - skill.shifted >= SHIFT_COOLDOWN)
    update.count_suitable(understood.acceptable, shifted)
    patterns = dict.fromkeys(read.pattern for read in understood.directives)
    left_out = tuple(dict.fromkeys((*privacy.placeholders(correction.text), *update.private)))
    return counting.diff(
        correction,
        stated=tuple(saying.changes),
        beliefs=update.beliefs,
        session=updated_session(
            skill, correction, source, limits.session, update.suitable if learns else (), update.shown
        ),
        trigger=DiffTrigger(
            what=_CORRECTION,
            words="" if understood.unquoted else _redacted(correction.text, correction.domain, privacy),
            by_pattern=", ".join(patterns)[:80],
            explanation=explanation(understood, left_out, correction.domain, update.effect),
            not_kept=left_out,
        ),
        refused=(*counting.refused, *update.refused),
        reasoned_by=_reasoner(understood),
        source=source,
    )


def resolve_ignored(
    skill: PolicySkill,
    correction: Correction,
    understood: Interpretation,
    source: Position | None = None,
    *,
    privacy: Privacy,
) -> SkillDiff:
    """Return the diff of a correction without effect on lines.

    Words about another person are not kept.
    """
    is_another = understood.about is TasteOwner.ANOTHER
    words = "" if is_another else _redacted(correction.text, correction.domain, privacy)
    left_out = () if is_another else tuple(dict.fromkeys(privacy.placeholders(correction.text)))
    return next_diff(
        skill,
        correction,
        trigger=DiffTrigger(
            what=_CORRECTION,
            words=words,
            understood=False,
            by_pattern=_OF_ANOTHER if is_another else "",
            why=understood.why,
            explanation=explanation(understood, left_out, correction.domain),
            not_kept=left_out,
        ),
        evidence=Evidence(event_id=correction.event_id, item_id=correction.item_id),
        reasoned_by=_reasoner(understood),
        source=source,
    )


def resolve_abstention(
    skill: PolicySkill, abstention: Abstention, source: Position | None = None, limits: MergeLimits = DEFAULT_LIMITS
) -> SkillDiff:
    """Return the diff of a list without a choice; its lines stay."""
    said_before = live_statements(skill, abstention.occurred_at, abstention.session_id)
    return next_diff(
        skill,
        abstention,
        count_delta=CountDelta(),
        stated=expired_statements(skill, abstention, source),
        beliefs=update_beliefs(skill, said_before, suited=(), refused=abstention.shown),
        session=updated_session(skill, abstention, source, limits.session),
        trigger=DiffTrigger(what="abstention"),
        evidence=Evidence(event_id=abstention.event_id),
        reasoned_by=Provenance(reasoner=_PERSON),
        source=source,
    )


def _redacted(words: str, domain: str, privacy: Privacy) -> str:
    return visible(privacy.redact_about_person(words, domain, MAX_WORDS).text)[:MAX_WORDS]


def _reasoner(understood: Interpretation) -> Provenance:
    by = understood.reasoned_by
    return by if by.model is not None or by.fallback is not None else Provenance(reasoner=_PERSON)


@dataclass
class _CorrectionUpdate:
    skill: PolicySkill
    correction: Correction
    items: Sequence[ItemFacts]
    privacy: Privacy
    usual: Mapping[str, int]
    learns: bool
    saying: StatementUpdate
    counting: EvidenceUpdate
    has_changed: bool = False
    refused: list[RefusedProposal] = field(default_factory=list)
    private: list[str] = field(default_factory=list)
    suitable: tuple[ItemFacts, ...] = ()
    shown: ListEvidence | None = None
    wanted: list[str] = field(default_factory=list)
    unwanted: list[str] = field(default_factory=list)

    def apply(self, read: ReadDirective) -> None:
        """Apply one directive."""
        said = read.directive
        if said.item_id is not None and said.stance is not Stance.AVOIDS:
            self.wanted.append(said.item_id)
            return
        subject = StatementSubject.of(said, {item.item_id: item.title for item in self.items})
        subject = subject.hide_private_title(self.correction.domain, self.privacy)
        if (kind := subject.private_kind(self.correction.domain, self.privacy)) is not None:
            self.refused.append(refused_change("", SkillChangeKind.ADDED, RefusalReason.PRIVATE, kind))
            self.private.append(kind)
            return
        words = _redacted(read.words, self.correction.domain, self.privacy)
        stated = self.saying.state(said.stance, subject, words, self._scope(read), self.correction.session_id)
        if stated is not None and said.stance is Stance.AVOIDS:
            self.unwanted.append(subject.attribute_id)
            self.has_changed = self.has_changed or (said.changed and stated.scope is Scope.ALWAYS)

    def count_suitable(self, suits: Sequence[str], shifted: bool) -> None:
        """Count suitable items as a choice; withdraw statements against them.

        After a changed taste all older counts fade at once.
        """
        by_id: dict[str, ItemFacts] = {item.item_id: item for item in self.items}
        wanted = [by_id[name] for name in dict.fromkeys((*self.wanted, *suits)) if name in by_id]
        aging = inactivity_decay(self.skill, self.correction.occurred_at) + (STATED_DRIFT_ROUNDS if shifted else 0)
        self.counting.has_shifted = shifted
        if not wanted:
            if shifted:
                self._count((), ListEvidence((), {}), aging)
            return
        self.suitable = tuple(wanted)
        just_said = set(self.unwanted)
        for item in self.suitable:
            facts = set(fact_ids(item.facts))
            for said in self.saying.current:
                is_new = said.attribute_id in just_said
                if not is_new and said.bound is None and rejects(said, item, facts):
                    self.saying.withdraw(said.statement_id, _SUITS)
        if not self.learns:
            return
        # Lines rest on the picked item, statements on the item of the correction.
        self.counting.evidence = Evidence(event_id=self.correction.event_id, item_id=wanted[0].item_id)
        names = {item.item_id for item in wanted}
        rest = [item for item in self.items if item.item_id not in names]
        self.shown = ListEvidence.of(wanted, rest, in_order=True) if rest else visit_evidence(wanted[0], self.usual)
        self._count([fact for item in (wanted if rest else wanted[:1]) for fact in item.facts], self.shown, aging)

    def _count(self, facts: Sequence[Fact], shown: ListEvidence, aging: int) -> None:
        if self.learns:
            self.counting.count(facts, shown, self.skill.contrasts, aged=aging)

    @property
    def effect(self) -> str:
        """The sentence for the person if the words state nothing; else empty."""
        if any(change.kind is StatementChangeKind.STATED for change in self.saying.changes):
            return ""
        if self.suitable:
            return COUNTS_AS_CHOICE if self.learns else LEARNING_STOPPED
        return "" if self.private else SUPERSEDED

    @property
    def beliefs(self) -> tuple[int, ...] | None:
        """The probabilities that unknown items suit; None: unchanged."""
        refused = self._refused_item()
        if not self.learns or (refused is None and not (self.suitable and self.skill.beliefs)):
            return None
        fails = (refused,) if refused else ()
        said_before = live_statements(self.skill, self.correction.occurred_at, self.correction.session_id)
        return update_beliefs(self.skill, said_before, suited=self.suitable, refused=fails, shown=self.items)

    def _refused_item(self) -> ItemFacts | None:
        # The item of the correction, else the first with an avoided fact.
        if not self.unwanted:
            return None
        left = [item for item in self.items if item not in self.suitable]
        about = next((item for item in left if item.item_id == self.correction.item_id), None)
        having = (item for item in left if not set(self.unwanted).isdisjoint(fact_ids(item.facts)))
        return about or next(having, None)

    def _scope(self, read: ReadDirective) -> Scope:
        if (scope := self.correction.scope or read.scope) is not None:
            return scope
        if read.directive.bound is not None:
            return Scope.SESSION if self.correction.session_id is not None else Scope.NOW
        return Scope.ALWAYS
