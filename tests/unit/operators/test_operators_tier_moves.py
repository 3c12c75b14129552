"""Moves of tiers by evidence (invariant 6), over random streams of choices, visits, signals and corrections.

The oracle reads two versions of a skill, the diff between them and the event; it computes no proof.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from itertools import chain

import pytest

from operators.attributes import fact_ids, from_fact, ranked_lines
from operators.evolve.proposals import Proposal, validate
from operators.evolve.quotes import Quotation
from operators.language.ports import Interpretation, ReadDirective
from operators.learning.choice_model import ListFeatures
from operators.learning.corrections import resolve_correction
from operators.learning.evidence import proof_for_tier
from operators.learning.feedback import resolve_abstention, resolve_feedback
from operators.learning.fold import fold, initial_skill, merge
from operators.learning.limits import DEFAULT_LIMITS, NEVER_CONFIRMED, MergeLimits
from operators.learning.update import resolve_choice, resolve_visit
from schemas import Contrast, Fact, Feedback, ItemFacts, PolicySkill, Provenance, SkillChange, SkillDiff, decode, encode
from schemas.diffs import SkillChangeKind
from schemas.events import Abstention, Interaction
from schemas.skills import MAX_HYPOTHESES, ONE, Attribute, AttributeKind, AttributeSource, Tier
from schemas.statements import Correction, Directive, Scope, Stance
from streams.policies import DEFAULT_GATE as GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import DOMAIN, NOW, USER

SMALL = MergeLimits(attributes=5, characters=420, seed_characters=250)
VALUES = {"genre": ["noir", "saga", "epic", "farce", "opera"], "author": ["Mina", "Ada"], "era": ["1970s", "1990s"]}
QUOTES = ["slow burn", "found family", "small town", "locked room", "haunted house", "unlikely friends"]
FALLS = {SkillChangeKind.WEAKENED, SkillChangeKind.FADED, SkillChangeKind.OVERTAKEN, SkillChangeKind.SHIFTED}
MOVES = FALLS | {SkillChangeKind.REINFORCED}
HABIT = Attribute(
    attribute_id="pattern:exploration:stays-with-favourite-genres", kind=AttributeKind.PATTERN, dimension="exploration",
    value="stays with favourite genres", tier=Tier.MEDIUM, source=AttributeSource.PRIOR,
)  # fmt: skip
Evented = Contrast | Interaction | Feedback | Abstention | Correction


@dataclass(frozen=True)
class Step:
    """An event with the skill before it and after it."""

    event: Evented
    before: PolicySkill
    diff: SkillDiff
    after: PolicySkill
    judged: set[str]
    items: list[ItemFacts]

    def held(self) -> Iterator[tuple[Attribute, Attribute]]:
        after = {line.attribute_id: line for line in self.after.attributes}
        for line in self.before.attributes:
            if line.attribute_id in after:
                yield line, after[line.attribute_id]

    def changes(self) -> dict[str, SkillChange]:
        found = {change.attribute_id: change for change in self.diff.changes}
        assert len(found) == len(self.diff.changes), "one change per line"
        return found

    def facts(self) -> Iterator[tuple[str, Fact]]:
        for item in self.items:
            yield from zip(fact_ids(item.facts), item.facts, strict=True)

    def taken(self) -> set[str]:
        items = (self.event.chosen, *self.event.also) if isinstance(self.event, Contrast) else ()
        return {name for item in items for name in fact_ids(item.facts)}

    def contradicted(self) -> set[str]:
        shown = self.event.unchosen if isinstance(self.event, Contrast) else ()
        shown = self.event.shown if isinstance(self.event, Abstention) else shown
        return {name for item in shown for name in fact_ids(item.facts)} - self.taken() | self.judged


class Person:
    """A person with favourites, which change in the middle of the stream."""

    def __init__(self, seed: int, limits: MergeLimits) -> None:
        self.draw, self.limits = random.Random(seed), limits
        self.constancy, self.speaks = self.draw.choice([0.3, 0.9, 1.0]), self.draw.choice([0, 0, 1])
        names = [Fact(dimension=name, value=value) for name, values in VALUES.items() for value in values]
        lines = [self.seeded(fact) for fact in self.draw.sample(names, 5)]
        held = {line.attribute_id for line in lines}
        hypotheses = {name: (ONE, 200, 0) for name in fact_ids(names) if name not in held}
        self.skill = initial_skill(USER, DOMAIN, (*lines, HABIT), self.visit(0), hypotheses)
        self.favourites = {fact.value for fact in self.draw.sample(names, 2)}

    def seeded(self, fact: Fact) -> Attribute:
        tier = self.draw.choice(list(Tier))
        if self.draw.random() < 0.3:
            return from_fact(fact, tier, AttributeSource.GLOBAL)
        counts = (self.draw.randrange(24 * ONE), self.draw.randrange(4 * ONE))
        return from_fact(fact, tier, AttributeSource.PRIOR, counts=counts, support=5, proof=proof_for_tier(tier))

    def item(self) -> ItemFacts:
        facts = [Fact(dimension=name, value=self.draw.choice(values)) for name, values in VALUES.items()]
        facts.append(Fact(dimension="mood", value=f"m{self.draw.randrange(30)} {'wide ' * 6}"))
        return ItemFacts(
            item_id=f"i{self.draw.randrange(10**9)}", facts=tuple(facts), measures={"price": self.draw.randrange(9)},
            excerpt=", ".join(self.draw.sample(QUOTES, 2)),
        )  # fmt: skip

    def common(self, number: int) -> dict[str, object]:
        self.at = getattr(self, "at", NOW) + timedelta(days=self.draw.choice([1] * 24 + [900]))
        return {"event_id": f"e{number}", "occurred_at": self.at, "user_id": USER, "domain": DOMAIN}

    def visit(self, number: int) -> Interaction:
        return Interaction(**self.common(number), item={"item_id": "visited"})

    def play(self, number: int) -> Step:
        kind = self.draw.choices(["choice", "visit", "signal", "none", "change"], [20, 2, 2, 2, self.speaks])[0]
        items = [self.item() for _ in range(self.draw.choice([2, 4, 9]))]
        usual = self.draw.choice([{}, dict.fromkeys(fact_ids(items[-1].facts), 200)])
        event: Evented
        against: set[str] = set()
        if kind == "choice":
            items.sort(key=lambda item: -len(self.favourites & {fact.value for fact in item.facts}))
            if self.draw.random() > self.constancy:
                self.draw.shuffle(items)
            taken = self.draw.choice([1] * 9 + [2])
            event = Contrast(
                **self.common(number), ranking_id=f"r{number}", chosen=items[0], chosen_rank=1,
                also=tuple(items[1:taken]), unchosen=tuple(items[taken:]),
            )  # fmt: skip
            names = [line.attribute_id for line in self.skill.attributes]
            judged = self.draw.sample(names, min(2, len(names))) if self.draw.random() < 0.2 else []
            words = items[0].excerpt.split(", ") if self.draw.random() < 0.2 else ()
            proposal = Proposal(
                tuple(judged[:1]), weakened=tuple(judged[1:]), reasoned_by=Provenance(model="any"),
                quoted=tuple(Quotation(Fact(dimension="theme", value=each), each) for each in words),
            )  # fmt: skip
            against = set(judged[1:])
            validated = validate(proposal, self.skill, event, PRIVACY, GATE)
            diff = resolve_choice(self.skill, validated, event, None, usual, self.limits)
        elif kind == "visit":
            event = self.visit(number)
            diff = resolve_visit(self.skill, event, items[0], None, usual, self.limits)
        elif kind == "signal":
            weight, signal = self.draw.choice([(-0.5, "disliked"), (0.1, "saved"), (0.7, "liked")])
            event = Feedback(**self.common(number), item={"item_id": items[0].item_id}, signal=signal)
            against = {name for name in fact_ids(items[0].facts) if weight < 0}
            diff = resolve_feedback(self.skill, event, items[0], weight, None, usual, self.limits, privacy=PRIVACY)
        elif kind == "change":
            said = Directive(stance=Stance.AVOIDS, dimension="genre", value="saga", changed=True)
            event = Correction(**self.common(number), text="no saga any more")
            read = Interpretation((ReadDirective(said, event.text, Scope.ALWAYS, "test"),))
            diff = resolve_correction(self.skill, event, items, read, None, usual, self.limits, privacy=PRIVACY)
        else:
            event = Abstention(**self.common(number), ranking_id=f"r{number}", shown=tuple(items))
            diff = resolve_abstention(self.skill, event, None, usual, self.limits)
        before, self.skill = self.skill, decode(PolicySkill, encode(merge(self.skill, diff)))
        return Step(event, before, diff, self.skill, against, items)


def stream(seed: int, limits: MergeLimits, length: int = 60) -> list[Step]:
    person, steps = Person(seed, limits), []
    for number in range(1, length + 1):
        if number == length // 2:
            person.favourites = {"opera", "Ada"}
        steps.append(person.play(number))
    return steps


@cache
def streams(limits: MergeLimits) -> list[list[Step]]:
    """The streams of all properties below: making them takes longer than any property."""
    return [stream(seed, limits) for seed in range(45)]


both_limits = pytest.mark.parametrize("limits", [DEFAULT_LIMITS, SMALL], ids=["default", "small"])


@both_limits
def test_a_tier_moves_by_one_step_in_the_direction_of_its_name(limits: MergeLimits) -> None:
    for step in chain(*streams(limits)):
        changes = step.changes()
        for before, after in step.held():
            change = changes.get(before.attribute_id)
            assert abs(after.tier - before.tier) <= 1
            if change is None:
                assert after.tier is before.tier
                continue
            assert (change.before, change.after) == (before.tier, after.tier)
            assert after.tier >= before.tier or change.kind in FALLS
            assert after.tier <= before.tier or change.kind is SkillChangeKind.REINFORCED
        known = {line.attribute_id for line in step.before.attributes}
        assert all(line.tier <= Tier.LOW for line in step.after.attributes if line.attribute_id not in known)


@both_limits
def test_a_change_has_the_numbers_that_it_names(limits: MergeLimits) -> None:
    for step in chain(*streams(limits)):
        tally = step.diff.count_delta
        assert tally is not None
        lines = {before.attribute_id: (before, after) for before, after in step.held()}
        for name, change in step.changes().items():
            if name not in lines or lines[name][0].kind is not AttributeKind.PREFERENCE:
                continue
            before, after = lines[name]
            added = tally.lines.get(name, (0, 0, 0))
            match change.kind:
                case SkillChangeKind.REINFORCED:
                    assert added[0] > 0
                case SkillChangeKind.WEAKENED if change.after is change.before:
                    assert added[1] > 0 or added[2] < 0
                    assert after.contradictions == before.contradictions + 1
                case SkillChangeKind.FADED | SkillChangeKind.OVERTAKEN:
                    assert tally.aged
                    assert not added[0]
            assert change.kind is SkillChangeKind.REINFORCED or name not in step.taken()


@both_limits
def test_a_line_above_low_outlasts_all_lower_ones(limits: MergeLimits) -> None:
    for step in chain(*streams(limits)):
        held = {line.attribute_id: line for line in step.before.attributes}
        left = {line.attribute_id: line.tier for line in step.after.attributes if not line.pinned}
        for name, change in step.changes().items():
            if change.kind is SkillChangeKind.EVICTED and change.reason != NEVER_CONFIRMED:
                assert held[name].tier is change.before
                if change.before > Tier.LOW:
                    kept = [max(tier, held[other].tier if other in held else tier) for other, tier in left.items()]
                    assert min(kept) >= change.before


@both_limits
def test_a_high_line_of_the_prior_falls_after_two_contradictions(limits: MergeLimits) -> None:
    """Or after the person states a changed taste."""
    for steps in streams(limits):
        against: Counter[str] = Counter()
        for step in steps:
            against.update(step.contradicted())
            for before, after in step.held():
                is_fact = before.kind is AttributeKind.PREFERENCE
                if is_fact and before.source is AttributeSource.PRIOR and before.tier is Tier.HIGH > after.tier:
                    assert against[before.attribute_id] >= 2 or isinstance(step.event, Correction)
                if after.tier is Tier.HIGH > before.tier:
                    against[before.attribute_id] = 0


@both_limits
def test_a_fact_is_a_line_only_with_a_proof(limits: MergeLimits) -> None:
    for steps in streams(limits):
        takings = Counter(steps[0].before.hypotheses.keys())
        for step in steps:
            known = {line.attribute_id for line in step.before.attributes}
            tally = step.diff.count_delta
            assert tally is not None
            takings.update(name for name, (taken, *_) in tally.lines.items() if taken)
            begun = [change.discovered for change in step.diff.changes if change.discovered is not None]
            for line in begun:
                if line.quote:
                    assert line.tier is (Tier.LOW if line.proof >= ONE else Tier.SILENT)
                elif line.kind is AttributeKind.PREFERENCE or line.dimension == "era":
                    assert takings[line.attribute_id] >= 1, "this event is not in the tally"
                    assert line.attribute_id in step.before.hypotheses
                    assert line.attribute_id not in known
                    assert line.tier is Tier.LOW
                    assert line.proof >= ONE
            assert step.after.hypotheses.keys().isdisjoint(line.attribute_id for line in step.after.attributes)
            assert len(step.after.hypotheses) <= MAX_HYPOTHESES


def test_hypotheses_rank_as_silent_lines() -> None:
    steps = list(chain(*streams(DEFAULT_LIMITS)))
    facts = {name: fact for step in steps for name, fact in step.facts()}

    for step in steps:
        if isinstance(step.event, Contrast) and step.before.hypotheses:
            items = (step.event.chosen, *step.event.unchosen)
            lines = [
                from_fact(facts[name], Tier.SILENT, AttributeSource.DISCOVERED, counts=(taken, expected), proof=proof)
                for name, (taken, expected, proof) in step.before.hypotheses.items()
            ]
            as_lines = ListFeatures.of(items, (*step.before.attributes, *lines), sums=step.before.numbers)
            assert ListFeatures.of(items, ranked_lines(step.before), sums=step.before.numbers) == as_lines


@both_limits
def test_the_log_folds_to_the_skill(limits: MergeLimits) -> None:
    for steps in streams(limits):
        log = [decode(SkillDiff, encode(step.diff)) for step in steps]

        assert encode(fold(log)[USER, DOMAIN]) == encode(steps[-1].after)


@both_limits
def test_the_streams_have_all_moves(limits: MergeLimits) -> None:
    """Otherwise the properties above hold for want of moves."""
    seen: defaultdict[SkillChangeKind, Counter[tuple[Tier | None, Tier | None]]] = defaultdict(Counter)
    for step in chain(*streams(limits)):
        for change in step.diff.changes:
            if change.kind is not SkillChangeKind.EVICTED or not change.reason:  # a reason: no lack of room
                seen[change.kind][change.before, change.after] += 1

    assert seen.keys() >= MOVES
    assert seen[SkillChangeKind.REINFORCED][Tier.MEDIUM, Tier.HIGH]
    assert seen[SkillChangeKind.WEAKENED][Tier.HIGH, Tier.HIGH]
    assert seen[SkillChangeKind.WEAKENED][Tier.HIGH, Tier.MEDIUM]
    evicted = {before for before, _ in seen[SkillChangeKind.EVICTED]}
    assert evicted >= {Tier.SILENT, Tier.LOW, Tier.MEDIUM} or limits is DEFAULT_LIMITS
