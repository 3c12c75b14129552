"""What a choice or a visit does to a skill: counts, and the tiers that follow from them (paper 2.5).

What was taken counts as taken, what was shown counts as expected, and every line forgets a little. A model's verdict
adds to the same counts. The diff says what was added; tiers move where the counts carry them.
"""

from collections.abc import Collection, Mapping, Sequence

from operators.attributes import fact_ids, from_fact
from operators.evidence import (
    FORGET,
    Shown,
    counts_of,
    first_expected,
    in_words,
    is_counted,
    tier_of,
    weakest_first,
)
from operators.evolve.validate import Validated
from operators.habits import POLE_OF, is_habit
from operators.lifted import lifted
from operators.merge.diffs import next_diff
from operators.merge.folding import apply_changes, counted
from operators.merge.habits import asked, decided, habits_after, in_step, with_habits
from operators.merge.limits import DEFAULT_LIMITS, MergeLimits
from operators.merge.room import NEVER_CONFIRMED, unconfirmed
from operators.render import fits
from schemas import (
    ONE,
    Attribute,
    Change,
    ChangeKind,
    Contrast,
    Evidence,
    Fact,
    HabitAdded,
    Interaction,
    ItemFacts,
    PolicySkill,
    Position,
    ReasonedBy,
    Refusal,
    Refused,
    SkillDiff,
    Source,
    Tally,
    Tier,
)

COUNTS = ReasonedBy(reasoner="counts")


def resolve_counts(
    skill: PolicySkill,
    validated: Validated,
    contrast: Contrast,
    source: Position | None = None,
    usual: Mapping[str, int] | None = None,
    limits: MergeLimits = DEFAULT_LIMITS,
    popularity: Mapping[str, int] | None = None,
) -> SkillDiff:
    """What a choice from a list does to this skill.

    Args:
        skill: as it is.
        validated: what a model makes of the choice; what rules propose adds nothing to the counts.
        contrast: the choice.
        source: where it stands.
        usual: the population's share of what was taken that has a fact, in 1/1024, by attribute id.
        limits: of the merge.
        popularity: how many users took an item lately, for habits of going with them or not.
    """
    proposal = validated.proposal
    judged = proposal if proposal.reasoned_by.model is not None else None
    verdicts = {} if judged is None else _verdicts(judged.reinforced, judged.weakened, limits)
    found = _Counting(skill, Evidence(event_id=contrast.event_id, item_id=contrast.chosen.item_id), limits, usual or {})
    found.count(
        contrast.chosen,
        Shown.of(contrast.chosen, contrast.unchosen),
        skill.contrasts + 1,
        verdicts,
        lifted(skill.attributes, contrast),
        asked(skill, contrast, popularity),
    )
    return next_diff(
        skill,
        contrast,
        tally=found.tally,
        changes=tuple(found.changes),
        refused=(*validated.refused, *found.refused),
        evidence=found.evidence,
        reasoned_by=proposal.reasoned_by,
        analysis=proposal.analysis[:4_000],
        source=source,
    )


def resolve_visit(
    skill: PolicySkill,
    visit: Interaction,
    item: ItemFacts,
    source: Position | None = None,
    usual: Mapping[str, int] | None = None,
    limits: MergeLimits = DEFAULT_LIMITS,
) -> SkillDiff:
    """What an item taken without a list does to this skill: what is usual takes the place of what was shown."""
    found = _Counting(skill, Evidence(event_id=visit.event_id, item_id=item.item_id), limits, usual or {})
    taken = tuple(dict.fromkeys(fact_ids(item.facts)))
    found.count(item, Shown(taken, usual or {}), skill.contrasts)
    return next_diff(
        skill,
        visit,
        tally=found.tally,
        changes=tuple(found.changes),
        refused=tuple(found.refused),
        evidence=found.evidence,
        is_contrast=False,
        reasoned_by=COUNTS,
        source=source,
    )


def _verdicts(
    supported: Collection[str], contradicted: Collection[str], limits: MergeLimits
) -> dict[str, tuple[int, int]]:
    """What a model's verdicts add, by line."""
    worth = int(limits.verdict_weight * ONE)
    return dict.fromkeys(supported, (worth, 0)) | dict.fromkeys(contradicted, (0, worth))


class _Counting:
    """One event's changes, while they are found."""

    def __init__(self, skill: PolicySkill, evidence: Evidence, limits: MergeLimits, usual: Mapping[str, int]) -> None:
        self.skill = skill
        self.evidence = evidence
        self.limits = limits
        self.usual = usual
        self.tally = Tally()
        self.changes: list[Change] = []
        self.refused: list[Refused] = []

    def count(
        self,
        chosen: ItemFacts,
        shown: Shown,
        now: int,
        verdicts: Mapping[str, tuple[int, int]] | None = None,
        places: Mapping[str, int] | None = None,
        habits: Mapping[str, HabitAdded] | None = None,
    ) -> None:
        """Count a choice: the tally, the moves of tiers, discoveries, and what has to go for them."""
        before, verdicts = self.skill.attributes, verdicts or {}
        self.tally = with_habits(_tally(before, shown, verdicts, places), habits or {})
        lines = counted(before, self.tally)
        taken = set(shown.taken)
        after = [
            line
            if is_habit(line)
            else self._moved(was, line, line.attribute_id in taken, verdicts.get(line.attribute_id, (0, 0))[0] > 0, now)
            for was, line in zip(before, lines, strict=True)
        ]
        after, new_habits = self._decided(after, now) if habits else (after, [])
        after = self._without_strangers(after, now)
        held = {line.attribute_id for line in before}
        met = self.skill.contrasts + max((line.support for line in before), default=0)
        facts: dict[str, Fact] = {}
        for name, fact in zip(fact_ids(chosen.facts), chosen.facts, strict=True):
            if name not in held:
                facts.setdefault(name, fact)
        new = [self._discovered(name, fact, shown, met, now) for name, fact in facts.items()]
        self._make_room(after, [*new_habits, *new])

    def _decided(self, lines: list[Attribute], now: int) -> tuple[list[Attribute], list[Attribute]]:
        """The lines without habits that are over, and the habits that are new."""
        habits = habits_after(self.skill, self.tally)
        moved, new = decided(self.skill.attributes, habits, self.evidence, now)
        self.changes += moved
        lines = list(in_step(apply_changes(lines, moved, self.evidence, now), habits))
        return lines, new

    def _moved(self, was: Attribute, line: Attribute, is_taken: bool, is_supported: bool, now: int) -> Attribute:
        """A line at the tier that its counts give; the change, where there is one to tell."""
        support = line.support + (is_taken or is_supported)
        tier = line.tier
        if is_counted(line):
            tier = tier_of(line.taken, line.expected, line.source, support, line.gained)
        if line.pinned:
            tier = max(tier, was.tier)
        if is_taken or is_supported:
            self._tell(ChangeKind.REINFORCED, was, line, tier)
            return line.model_copy(update={"tier": tier, "support": support, "confirmed_at": now})
        if tier == was.tier:
            return line
        self._tell(ChangeKind.WEAKENED, was, line, tier)
        return line.model_copy(update={"tier": tier})

    def _tell(self, kind: ChangeKind, was: Attribute, line: Attribute, tier: Tier) -> None:
        self.changes.append(
            Change(
                kind=kind,
                attribute_id=line.attribute_id,
                before=was.tier,
                after=tier,
                reason=in_words(line.taken, line.expected),
            )
        )

    def _without_strangers(self, lines: list[Attribute], now: int) -> list[Attribute]:
        """Leave behind what only others like, once enough choices have not confirmed it (paper 2.3)."""
        if now < self.limits.global_patience:
            return lines
        for line in lines:
            if unconfirmed(line) and not line.pinned:
                self._evict(line, NEVER_CONFIRMED)
        return [line for line in lines if line.pinned or not unconfirmed(line)]

    def _discovered(self, name: str, fact: Fact, shown: Shown, met: int, now: int) -> Attribute:
        expected = first_expected(self.usual.get(name, 0), shown.shares.get(name, 0), met)
        tier = tier_of(ONE, expected, Source.DISCOVERED, 1)
        return from_fact(
            fact, tier, Source.DISCOVERED, counts=(ONE, expected), confirmed_at=now, evidence=self.evidence
        )

    def _make_room(self, lines: Sequence[Attribute], new: Sequence[Attribute]) -> None:
        """Let the discoveries in, as far as they are better than what they push out (DESIGN 6, Merge)."""
        names = {line.attribute_id for line in new}
        after = [*lines, *new]
        loose = [line for line in after if not line.pinned and line.source is not Source.STATED]
        # What only others like says less about this person than their own emptiest line.
        going = iter(sorted(weakest_first(loose, self.usual), key=lambda line: not unconfirmed(line)))
        gone: set[str] = set()
        while len(after) - len(gone) > self.limits.attributes or not fits(
            [line for line in after if line.attribute_id not in gone], self.limits.characters
        ):
            line = next(going, None)
            if line is None:
                break
            gone.add(line.attribute_id)
            if line.attribute_id not in names:
                self._evict(line)
        for line in new:
            if line.attribute_id in gone:
                full = Refused(attribute_id=line.attribute_id, proposed=ChangeKind.DISCOVERED, why=Refusal.FULL)
                self.refused.append(full)
            else:
                self.changes.append(
                    Change(
                        kind=ChangeKind.DISCOVERED,
                        attribute_id=line.attribute_id,
                        after=line.tier,
                        discovered=line,
                        reason=in_words(line.taken, line.expected),
                    )
                )

    def _evict(self, line: Attribute, reason: str = "") -> None:
        self.changes = [change for change in self.changes if change.attribute_id != line.attribute_id]
        before = next(was.tier for was in self.skill.attributes if was.attribute_id == line.attribute_id)
        self.changes.append(
            Change(kind=ChangeKind.EVICTED, attribute_id=line.attribute_id, before=before, reason=reason)
        )


def _tally(
    lines: Sequence[Attribute],
    shown: Shown,
    verdicts: Mapping[str, tuple[int, int]],
    places: Mapping[str, int] | None,
) -> Tally:
    begun, added = {}, {}
    taken = set(shown.taken)
    for line in lines:
        name = line.attribute_id
        if name in POLE_OF:
            continue
        if not is_counted(line) and line.tier is not Tier.SILENT:
            begun[name] = counts_of(line)
        more, less = verdicts.get(name, (0, 0))
        to_taken, to_expected = ONE * (name in taken) + more, shown.shares.get(name, 0) + less
        if to_taken or to_expected:
            added[name] = (to_taken, to_expected)
    return Tally(forget=FORGET, begun=begun, lines=added, places=dict(places or {}))
