"""Corrections: statements of people about lists and items (invariants 5 and 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from operators.attributes import fact_ids
from operators.evolve.proposals import refused_change
from operators.fit.acceptance import update_beliefs
from operators.language.corrections import COUNTS_AS_CHOICE, LEARNING_STOPPED, SUPERSEDED, explanation
from operators.language.ports import Interpretation, ReadDirective
from operators.language.privacy import Privacy
from operators.learning.evidence import STATED_DRIFT_ROUNDS, ListEvidence, inactivity_decay
from operators.learning.feedback import PERSON
from operators.learning.fold import next_diff
from operators.learning.lesson import visit_evidence
from operators.learning.limits import DEFAULT_LIMITS, MergeLimits
from operators.learning.statements import StatementSubject, StatementUpdate, updated_session
from operators.learning.tiers import TierUpdate
from operators.learning.update import EvidenceUpdate
from operators.options import EvolveMode
from operators.prompts import visible
from operators.stated import live_statements, rejects
from schemas import MAX_WORDS, Correction, Evidence, ItemFacts, Position, Provenance, Scope, Stance, StatementChangeKind
from schemas.diffs import DiffTrigger, PolicySkill, RefusalReason, RefusedProposal, SkillChangeKind, SkillDiff

# Reports of a changed taste within 64 versions are about one change: people report it piece by piece.
SHIFT_COOLDOWN = 64
_CORRECTION, _OF_ANOTHER = "correction", "about somebody else"
_SUITS = "the person says that an item with it suits"


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
    mode: EvolveMode = EvolveMode.EVIDENCE,
) -> SkillDiff:
    """Return the diff of a correction."""
    evidence, usual = Evidence(event_id=correction.event_id, item_id=correction.item_id), usual or {}
    saying = StatementUpdate(skill, correction, evidence, source, limits.session)
    counting: EvidenceUpdate | TierUpdate = EvidenceUpdate(skill, evidence, limits, usual)
    if mode is EvolveMode.PAPER:
        counting = TierUpdate(skill, evidence, limits)
    update = _CorrectionUpdate(skill, correction, items, privacy, usual, learns, saying, counting)
    for read in understood.directives:
        update.apply(read)
    update.count_suitable(understood.acceptable)
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
            by_pattern=", ".join(dict.fromkeys(read.pattern for read in understood.directives))[:80],
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
    is_another = understood.is_about_another
    left_out = () if is_another else tuple(dict.fromkeys(privacy.placeholders(correction.text)))
    return next_diff(
        skill,
        correction,
        trigger=DiffTrigger(
            what=_CORRECTION,
            words="" if is_another else _redacted(correction.text, correction.domain, privacy),
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


def _redacted(words: str, domain: str, privacy: Privacy) -> str:
    return visible(privacy.redact_about_person(words, domain, MAX_WORDS).text)[:MAX_WORDS]


def _reasoner(understood: Interpretation) -> Provenance:
    by = understood.reasoned_by
    return by if by.model is not None or by.fallback is not None else PERSON


@dataclass
class _CorrectionUpdate:
    skill: PolicySkill
    correction: Correction
    items: Sequence[ItemFacts]
    privacy: Privacy
    usual: Mapping[str, int]
    learns: bool
    saying: StatementUpdate
    counting: EvidenceUpdate | TierUpdate
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

    def count_suitable(self, suits: Sequence[str]) -> None:
        """Count suitable items as a choice; withdraw statements against them.

        After a changed taste all older counts fade at once.
        """
        skill, counting = self.skill, self.counting
        shifted = self.has_changed and (not skill.shifted or skill.version - skill.shifted >= SHIFT_COOLDOWN)
        counting.has_shifted = shifted
        by_id: dict[str, ItemFacts] = {item.item_id: item for item in self.items}
        self.suitable = tuple(by_id[name] for name in dict.fromkeys((*self.wanted, *suits)) if name in by_id)
        for item in self.suitable:
            facts = set(fact_ids(item.facts))
            for said in self.saying.current:
                if said.attribute_id not in self.unwanted and said.bound is None and rejects(said, item, facts):
                    self.saying.withdraw(said.statement_id, _SUITS)
        if not self.learns or not (self.suitable or shifted):
            return
        if isinstance(counting, TierUpdate):
            if self.suitable:
                # Lines rest on the picked item, statements on the item of the correction.
                counting.evidence = self._evidence(self.suitable[0])
                counting.signal(self.suitable, 1.0)
            return
        taken: Sequence[ItemFacts] = ()
        shown = ListEvidence((), {})
        if self.suitable:
            names = {item.item_id for item in self.suitable}
            rest = [item for item in self.items if item.item_id not in names]
            taken = self.suitable if rest else self.suitable[:1]
            shown = ListEvidence.of(taken, rest, in_order=True) if rest else visit_evidence(skill, taken, self.usual)
            counting.evidence = self._evidence(taken[0])
            self.shown = shown
        aging = inactivity_decay(skill, self.correction.occurred_at) + (STATED_DRIFT_ROUNDS if shifted else 0)
        counting.count([fact for item in taken for fact in item.facts], shown, skill.contrasts, aged=aging)

    def _evidence(self, picked: ItemFacts) -> Evidence:
        return Evidence(event_id=self.correction.event_id, item_id=picked.item_id)

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
        refused = self._refused_items()
        if not self.learns or not (refused or (self.suitable and self.skill.beliefs)):
            return None
        said_before = live_statements(self.skill, self.correction.occurred_at, self.correction.session_id)
        return update_beliefs(self.skill, said_before, suited=self.suitable, refused=refused, shown=self.items)

    def _refused_items(self) -> Sequence[ItemFacts]:
        # The item of the correction, else the first with an avoided fact.
        if not self.unwanted:
            return ()
        left = [item for item in self.items if item not in self.suitable]
        about = [item for item in left if item.item_id == self.correction.item_id]
        having = [item for item in left if not set(self.unwanted).isdisjoint(fact_ids(item.facts))]
        return (about or having)[:1]

    def _scope(self, read: ReadDirective) -> Scope:
        if (scope := self.correction.scope or read.scope) is not None:
            return scope
        if read.directive.bound is not None:
            return Scope.SESSION if self.correction.session_id is not None else Scope.NOW
        return Scope.ALWAYS
