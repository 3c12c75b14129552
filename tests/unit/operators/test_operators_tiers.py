"""The mode `paper`, and the limits of a skill (paper 2.3, 2.5).

The oracles of the random streams read the tiers before and after each event from the log, and count contradictions by
themselves.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.attributes import from_fact
from operators.evolve.proposals import Proposal, RulesReasoner, ValidatedProposal
from operators.evolve.quotes import Quotation
from operators.language.ports import Interpretation, ReadDirective
from operators.learning.choice_model import ListFeatures
from operators.learning.document import document_length, strategy_of
from operators.learning.fold import OutOfOrder, fold, has_learned, initial_skill, merge
from operators.learning.limits import DEFAULT_LIMITS, MergeLimits, fit_seed
from operators.learning.prior import observe
from operators.learning.tiers import resolve_tiers
from operators.options import EvolveMode
from operators.steps.evolve import EvolveEffects, EvolveState, EvolveStep
from operators.steps.prior import SkillStart
from schemas import (
    Action,
    Contrast,
    Fact,
    ItemFacts,
    PolicySkill,
    Profile,
    Provenance,
    SkillChangeKind,
    SkillDiff,
    decode,
    encode,
)
from schemas.diffs import NumberSums
from schemas.events import Abstention, Feedback, Signal
from schemas.skills import MAX_RECENT, ONE, Attribute, AttributeSource, Evidence, Tier
from schemas.statements import Correction, Directive, Scope, Stance
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import (
    DOMAIN,
    NOW,
    USER,
    a_candidate,
    a_command,
    a_contrast,
    a_position,
    a_proposal,
    a_skill,
    an_attribute,
    an_interaction,
    evolve,
    facts,
    id_of,
    item_facts,
    line,
    texts,
)  # fmt: skip
from tests.unit.learning.test_learning_invariants import FACT, FEW_LINES, HISTORY, MANY, PlayedRecord, Stream

NOIR, SAGA = "genre: noir", "genre: saga"
LOW, MEDIUM, HIGH = Tier.LOW, Tier.MEDIUM, Tier.HIGH
EVICTED, WEAKENED = SkillChangeKind.EVICTED, SkillChangeKind.WEAKENED
STEP = EvolveStep(mode=EvolveMode.PAPER, privacy=PRIVACY, gate=OUTPUT_GATE)
VALUES = {Signal.DWELLED: 60.0, Signal.RATED: 2.0}
SMALL = MergeLimits(attributes=5, characters=400, seed_characters=200, pinned=1)
FEW_VALUES = st.builds(
    Fact, dimension=st.sampled_from(["genre", "mood", "era"]), value=st.sampled_from([f"v{n}" for n in range(7)])
)
ITEM = st.lists(FEW_VALUES, max_size=5).map(tuple)
PLACES = st.lists(st.integers(0, 20), max_size=4).map(tuple)


@dataclass(frozen=True)
class PlayedEvent:
    """One event of any kind; a model reinforces and weakens the lines of these `places`, or the rules decide."""

    kind: str
    items: tuple[tuple[Fact, ...], ...]
    places: tuple[tuple[int, ...], tuple[int, ...]] | None
    signal: Signal
    action: Action
    tier: Tier


EVENT = st.builds(
    PlayedEvent,
    st.sampled_from(["choice"] * 6 + ["signal", "signal", "correction", "abstention", "visit", "command"]),
    st.lists(ITEM, min_size=1, max_size=4).map(tuple),
    st.none() | st.tuples(PLACES, PLACES),
    st.sampled_from(Signal),
    st.sampled_from([Action.PIN, Action.UNPIN, Action.SET_TIER, Action.ADD, Action.REMOVE, Action.REWORD]),
    st.sampled_from([LOW, MEDIUM, HIGH]),
)


@dataclass
class PaperStream:
    """One user's events through the steps of the agent `evolve`, after a history."""

    past: Sequence[Sequence[Fact]]
    events: Sequence[PlayedEvent]
    limits: MergeLimits = DEFAULT_LIMITS
    # Each event with its diff, and the skill before and after it.
    log: list[tuple[PlayedEvent, SkillDiff, PolicySkill, PolicySkill]] = field(default_factory=list)

    def __post_init__(self) -> None:
        start = SkillStart(self.limits, mode=EvolveMode.PAPER, privacy=PRIVACY)
        self.step = replace(STEP, limits=self.limits)
        self.skill = start.skill(USER, DOMAIN, a_contrast(), a_history(*self.past))
        for number, event in enumerate(self.events):
            before, effects = self.skill, self.effects(event, number)
            self.skill = decode(PolicySkill, encode(effects.skill))
            if effects.diff is not None:
                self.log.append((event, decode(SkillDiff, encode(effects.diff)), before, self.skill))

    def effects(self, event: PlayedEvent, number: int) -> EvolveEffects:
        step, state, held = self.step, EvolveState(self.skill), self.skill.attributes
        text = f"A slow burn of part {number}, a found family"
        items = [ItemFacts(item_id=f"i{number}-{n}", facts=each, excerpt=text) for n, each in enumerate(event.items)]
        who: dict[str, Any] = {"event_id": f"e{number}", "occurred_at": NOW, "user_id": USER, "domain": DOMAIN}
        match event.kind:
            case "choice":
                contrast = a_contrast(items[0], ranking_id=f"r{number}", session_id="s")
                contrast = contrast.model_copy(update={"unchosen": tuple(items[1:])})
                return step.finish(state, contrast, self.proposal(event, contrast))
            case "signal":
                rated: dict[str, Any] = {"signal": event.signal, "value": VALUES.get(event.signal)}
                return step.apply_signal(state, Feedback(**who, **rated, item=a_candidate(items[0].item_id)), items[0])
            case "correction":
                said = Directive(stance=Stance.AVOIDS, dimension="genre", value="v0", changed=event.tier is LOW)
                read = ReadDirective(said, "no v0", Scope.ALWAYS, "test")
                understood = Interpretation((read,), (items[-1].item_id,))
                return step.correct(state, Correction(**who, text="no v0"), items, understood)
            case "abstention":
                return step.abstain(state, Abstention(**who, ranking_id=f"r{number}", shown=tuple(items)))
            case "visit":
                return step.visit(state, an_interaction(**who), items[0])
        about = held[event.tier % len(held)].attribute_id if held else "preference:genre:none"
        named = {} if event.action is Action.ADD else {"attribute_id": about}
        more: dict[str, Any] = {"event_id": f"e{number}", **named}
        more |= {"tier": event.tier} if event.action is Action.SET_TIER else {}
        return step.command(state, a_command(event.action, f"mood: new {number}", **more))

    def proposal(self, event: PlayedEvent, contrast: Contrast) -> Proposal:
        if event.places is None:
            return RulesReasoner().propose(contrast, self.skill)
        names = [each.attribute_id for each in self.skill.attributes] or ["preference:genre:none"]
        more, less = (tuple(names[place % len(names)] for place in places) for places in event.places)
        by = Provenance(reasoner="llm", model="liar")
        quoted = tuple(Quotation(Fact(dimension="theme", value=each), each) for each in ("slow burn", "an invention"))
        return Proposal(more, contrast.chosen.facts[:3], quoted, less, reasoned_by=by)


def a_history(*visits: Sequence[Fact]) -> Profile | None:
    profile = None
    for number, found in enumerate(visits):
        profile = observe(profile, an_interaction(event_id=f"past-{number}"), found)
    return profile


def by_name(skill: PolicySkill) -> dict[str, Attribute]:
    return {each.attribute_id: each for each in skill.attributes}


PLAYED = st.builds(
    PaperStream,
    st.lists(ITEM.filter(bool), max_size=25),
    st.lists(EVENT, max_size=25),
    st.sampled_from([DEFAULT_LIMITS, SMALL, replace(SMALL, attributes=3)]),
)


@MANY
@given(PLAYED)
def test_each_change_moves_one_step_as_its_name_says(stream: PaperStream) -> None:
    for event, diff, before, after in stream.log:
        held, left = by_name(before), by_name(after)
        named = {change.attribute_id: change for change in diff.changes}
        for name in held.keys() | left.keys():
            was, now = (lines[name].tier if name in lines else None for lines in (held, left))
            wanted = (named[name].before, named[name].after) if name in named else (was, was)
            assert wanted == (was, now)
        for change in diff.changes if event.kind != "command" else ():
            step = None if change.before is None or change.after is None else change.after - change.before
            match change.kind:
                case SkillChangeKind.REINFORCED:
                    assert step == (0 if change.before is HIGH else 1)
                case SkillChangeKind.WEAKENED:
                    assert step in (0, -1)
                    assert change.after is not Tier.SILENT
                case SkillChangeKind.DISCOVERED:
                    assert (change.before, change.after) == (None, LOW)
                    assert not change.attribute_id.endswith("invention")
                case _:
                    assert change.kind is EVICTED


@MANY
@given(PLAYED)
def test_no_line_above_low_is_evicted_while_a_lower_one_is_left(stream: PaperStream) -> None:
    for _, diff, before, after in stream.log:
        gone = [by_name(before)[each.attribute_id] for each in diff.changes if each.kind is EVICTED]
        stated = AttributeSource.STATED
        loose = [each.tier for each in after.attributes if not each.pinned and each.source is not stated]
        assert not any(each.pinned for each in gone)
        assert min(loose, default=HIGH) >= max([each.tier for each in gone], default=LOW)
        assert len(after.attributes) <= stream.limits.attributes


@MANY
@given(PLAYED)
def test_a_high_line_of_the_prior_falls_only_after_two_contradictions(stream: PaperStream) -> None:
    contradicted: Counter[str] = Counter()
    for event, diff, before, _ in stream.log:
        for change in diff.changes:
            name = change.attribute_id
            contradicted[name] += 1
            if event.kind == "command" or change.kind is not WEAKENED:
                contradicted[name] = 0
            elif change.after is not change.before:
                is_protected = by_name(before)[name].source is AttributeSource.PRIOR and change.before is HIGH
                assert contradicted[name] >= (2 if is_protected else 1)
                contradicted[name] = 0


@MANY
@given(PLAYED)
def test_the_log_folds_to_a_skill_without_counts(stream: PaperStream) -> None:
    if stream.log:
        assert encode(fold(diff for _, diff, _, _ in stream.log)[USER, DOMAIN]) == encode(stream.skill)
    assert not any(diff.count_delta for _, diff, _, _ in stream.log)
    assert not any(each.taken or each.expected or each.proof for each in stream.skill.attributes)
    assert not any(session.lines for session in stream.skill.sessions)
    assert stream.skill.numbers is None


@MANY
@given(PLAYED, st.integers(0, 20))
def test_the_ranking_changes_when_a_tier_changes(stream: PaperStream, place: int) -> None:
    lines = [each for each in stream.skill.attributes if each.tier < HIGH]
    if not lines:
        return
    raised = lines[place % len(lines)]
    item = ItemFacts(item_id="own", facts=(Fact(dimension=raised.dimension, value=raised.value),))

    after = STEP.finish(EvolveState(stream.skill), a_contrast(item), Proposal((raised.attribute_id,))).skill

    was, now = (
        ListFeatures.of([item, item_facts("other")], of.attributes).dimensions[raised.dimension][0]
        for of in (stream.skill, after)
    )
    assert now > was or (raised.pinned and now == was)


class TestPrior:
    def lines(self, *visits: str) -> tuple[Attribute, ...]:
        history = a_history(*(item_facts("i", visit).facts for visit in visits))
        skill = SkillStart(mode=EvolveMode.PAPER, privacy=PRIVACY).skill(USER, DOMAIN, a_contrast(), history)
        return skill.attributes

    def test_frequent_values_are_high_and_single_ones_low(self) -> None:
        found = {f"{a.dimension}: {a.value}": a.tier for a in self.lines(*[NOIR] * 3, *[SAGA] * 2, "mood: dark")}

        assert found == {NOIR: HIGH, SAGA: MEDIUM, "mood: dark": LOW}

    def test_recent_visits_count_more(self) -> None:
        """5.4 against 5.0; and 17.4 against 10.8, though there are more visits before the last fifteen."""
        assert texts(self.lines(*[NOIR] * 5, *[SAGA] * 3)) == [SAGA, NOIR]
        assert texts(self.lines(*[NOIR] * 18, *[SAGA] * 15)) == [SAGA, NOIR]

    def test_a_seed_has_no_counts(self) -> None:
        [only] = self.lines(*[NOIR] * 20)

        assert (only.tier, only.taken, only.expected, only.proof, only.support) == (HIGH, 0, 0, 0, 20)


@pytest.mark.parametrize(
    ("signal", "wanted"),
    [
        (Signal.LIKED, {NOIR: HIGH, "mood: dark": LOW}),
        (Signal.DISLIKED, {NOIR: LOW}),
        (Signal.SKIPPED, {NOIR: MEDIUM}),
        (Signal.DWELLED, {NOIR: MEDIUM}),
    ],
)
def test_a_strong_signal_moves_tiers_in_its_direction(signal: Signal, wanted: dict[str, Tier]) -> None:
    who: dict[str, Any] = {"event_id": "f1", "occurred_at": NOW, "user_id": USER, "domain": DOMAIN}
    event = Feedback(**who, item=a_candidate("i"), signal=signal, value=VALUES.get(signal))

    skill = STEP.apply_signal(
        EvolveState(a_skill(an_attribute(NOIR))), event, item_facts("i", NOIR, "mood: dark")
    ).skill

    assert {f"{each.dimension}: {each.value}": each.tier for each in skill.attributes} == wanted


def test_a_skill_of_the_other_mode_loses_its_counts_at_its_first_event() -> None:
    noir = an_attribute(NOIR, taken=5_000, expected=300)
    said = an_attribute(SAGA, MEDIUM, AttributeSource.STATED, taken=9_000, expected=10)
    skill = a_skill(noir, said, numbers=NumberSums(pulls={"price": 900}, curves={"price price": 90}))

    first = STEP.finish(EvolveState(skill), a_contrast(["mood: dark"]), a_proposal(discovered=["mood: dark"]))
    second = STEP.finish(EvolveState(first.skill), a_contrast(["era: old"]), a_proposal(discovered=["era: old"]))

    kept, numbers = first.skill.attributes, first.skill.numbers
    assert [(each.tier, each.taken, each.expected) for each in kept] == [(MEDIUM, 0, 0), (MEDIUM, 0, 0), (LOW, 0, 0)]
    assert numbers is not None
    assert not any((*numbers.pulls.values(), *numbers.curves.values()))
    assert second.diff is not None
    assert second.diff.count_delta is None


def test_rules_give_reasons_in_numbers() -> None:
    contrast = a_contrast([NOIR], [[SAGA], ["mood: dark"], [SAGA], [SAGA], [NOIR]])
    skill = a_skill(an_attribute(NOIR, LOW))

    effects = STEP.finish(EvolveState(skill), contrast, RulesReasoner().propose(contrast, skill))

    assert effects.diff is not None
    [change] = effects.diff.changes
    assert (change.attribute_id, change.reason) == (id_of(NOIR), "taken, and 1 of 5 left items have it")


def refusals(diff: SkillDiff) -> list[tuple[str, str]]:
    return [(refused.attribute_id, refused.why.value) for refused in diff.refused]


class TestDiscover:
    def test_a_discovery_starts_low_with_its_evidence(self) -> None:
        contrast = a_contrast([NOIR])

        skill, _ = evolve(a_skill(version=4), a_proposal(discovered=[NOIR]), contrast)

        noir = line(skill, NOIR)
        assert (noir.tier, noir.source, noir.support, noir.confirmed_at) == (LOW, AttributeSource.DISCOVERED, 1, 5)
        assert noir.evidence == (Evidence(event_id=contrast.event_id, item_id="taken"),)


def test_pinned_and_protected_lines_are_never_evicted() -> None:
    protected = [an_attribute(f"genre: p{n}", HIGH) for n in range(2)]
    pinned = [an_attribute(f"genre: q{n}", LOW, AttributeSource.DISCOVERED, pinned=True) for n in range(2)]

    skill, diff = evolve(
        a_skill(*protected, *pinned), a_proposal(discovered=["genre: fresh"]), limits=MergeLimits(attributes=4)
    )

    assert set(texts(skill.attributes)) == {"genre: p0", "genre: p1", "genre: q0", "genre: q1"}
    assert refusals(diff) == [(id_of("genre: fresh"), "full")]
    assert not diff.changes


def test_a_seed_leaves_room_for_higher_tiers() -> None:
    seed = [an_attribute(f"genre: g{n}", LOW) for n in range(20)]

    kept = fit_seed(seed, MergeLimits(seed_characters=300))

    raised = [each.model_copy(update={"tier": MEDIUM}) for each in kept]
    assert len(kept) > 10
    assert document_length(raised, strategy_of(())) <= 300


def test_a_gap_in_versions_is_out_of_order() -> None:
    given = a_skill(an_attribute(NOIR, LOW))
    first, _ = evolve(given, a_proposal(reinforced=[NOIR]))
    _, later = evolve(first, a_proposal(reinforced=[NOIR]))

    with pytest.raises(OutOfOrder, match="diff 3 of ann/books rests on 2, the skill is at 1"):
        merge(given, later)


def test_a_record_is_known_by_its_position() -> None:
    skill, diff = evolve(a_skill(), a_proposal(), source=a_position(0))
    for offset in range(1, MAX_RECENT + 5):
        skill, _ = evolve(skill, a_proposal(), source=a_position(offset))

    assert diff.event_id not in skill.recent
    assert len(skill.recent) == MAX_RECENT
    assert has_learned(skill, diff.event_id, a_position(0))
    assert not has_learned(skill, diff.event_id, a_position(MAX_RECENT + 5))


def test_the_fold_ignores_changed_limits() -> None:
    diffs: list[SkillDiff] = []
    skill = initial_skill(USER, DOMAIN, (an_attribute(NOIR, HIGH),), a_contrast())
    for limits in (MergeLimits(protect_contradictions=1), MergeLimits(attributes=1), MergeLimits()):
        skill, diff = evolve(skill, a_proposal(weakened=[NOIR], discovered=[f"genre: g{len(diffs)}"]), None, limits)
        diffs.append(diff)

    assert encode(fold(diffs)[USER, DOMAIN]) == encode(skill)


def test_reasons_are_kept_and_truncated() -> None:
    proposal = replace(a_proposal(reinforced=[NOIR]), reasons={id_of(NOIR): "w" * 999}, analysis="a" * 9_999)
    skill = a_skill(an_attribute(NOIR, LOW))

    _, diff = evolve(skill, proposal, a_contrast(ItemFacts(item_id="taken", facts=facts(NOIR))))

    assert diff.changes[0].reason == "w" * 300
    assert diff.analysis == "a" * 4_000


def popular(text: str = NOIR, tier: Tier = MEDIUM, **more: object) -> Attribute:
    return an_attribute(text, tier, AttributeSource.GLOBAL, **more)


class TestRoom:
    def evict(self, *lines: Attribute, keep: int) -> list[str]:
        skill = a_skill(*lines, version=2)
        after, _ = evolve(skill, a_proposal(discovered=["genre: fresh"]), limits=MergeLimits(attributes=keep))
        return [text for text in texts(skill.attributes) if text not in texts(after.attributes)]

    def test_unconfirmed_global_lines_make_room_first_of_their_tier(self) -> None:
        own = an_attribute("genre: own", LOW, AttributeSource.DISCOVERED)

        assert self.evict(own, popular("genre: all", LOW), keep=2) == ["genre: all"]
        assert self.evict(own, popular("genre: all", MEDIUM), keep=2) == ["genre: own"]


OWN = (SkillChangeKind.REINFORCED, SkillChangeKind.DISCOVERED, SkillChangeKind.ADDED, SkillChangeKind.REWORDED)
"""What the user chose, or said."""
UNCONFIRMED = st.builds(from_fact, FACT, st.sampled_from(Tier), st.just(AttributeSource.GLOBAL), support=st.just(0))
OTHERS = st.builds(
    from_fact, FACT, st.sampled_from(Tier), st.sampled_from(list(AttributeSource)), support=st.integers(1, 9)
)
SEEDS = st.lists(UNCONFIRMED | UNCONFIRMED | OTHERS, max_size=12, unique_by=lambda a: a.attribute_id).map(tuple)
LIMITS = st.sampled_from([DEFAULT_LIMITS, FEW_LINES, MergeLimits(global_patience=1), MergeLimits(global_patience=9)])


@MANY
@given(SEEDS, HISTORY, LIMITS)
def test_patience_removes_only_unconfirmed_lines(
    seed: tuple[Attribute, ...], history: list[PlayedRecord], limits: MergeLimits
) -> None:
    """And the fold is exact; an oracle of our own counts who was confirmed."""
    stream = Stream(seed, limits).play(history)
    confirmed = {a.attribute_id for a in seed if a.support or a.source is not AttributeSource.GLOBAL}
    contrasts, before = 0, {a.attribute_id: a for a in fit_seed(seed, limits)}

    for diff, skill in zip(stream.log, stream.skills, strict=True):
        contrasts += diff.is_contrast
        confirmed |= {c.attribute_id for c in diff.changes if c.kind in OWN}
        back = [c.discovered for c in diff.changes if c.kind is SkillChangeKind.RESTORED and c.discovered]
        confirmed |= {a.attribute_id for a in back if a.support or a.source is not AttributeSource.GLOBAL}
        # A version from before anything confirmed it has been restored: it has to be confirmed anew.
        confirmed -= {a.attribute_id for a in back if not a.support and a.source is AttributeSource.GLOBAL}
        unpinned = {a.attribute_id for a in skill.attributes if not a.pinned}
        if diff.is_contrast and contrasts >= limits.global_patience:
            assert unpinned <= confirmed
        for change in diff.changes:
            if change.kind is SkillChangeKind.EVICTED and change.reason:
                assert diff.is_contrast
                assert contrasts >= limits.global_patience
                assert change.attribute_id not in confirmed
                assert not before[change.attribute_id].pinned
        before = {a.attribute_id: a for a in skill.attributes}

    if stream.skill is not None:
        assert encode(fold(stream.log)[USER, DOMAIN]) == encode(stream.skill)


def test_hypotheses_of_the_mode_evidence_end() -> None:
    skill = a_skill().model_copy(update={"hypotheses": {"preference:genre:noir": (ONE, 0, 0)}})

    diff = resolve_tiers(skill, ValidatedProposal(Proposal()), a_contrast(["genre: saga"]))

    assert merge(skill, diff).hypotheses == {}
