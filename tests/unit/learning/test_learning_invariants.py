"""The invariants of DESIGN 4 that the operators alone must keep, for any history.

A `Stream` plays the agent `evolve` without a broker: records are delivered, some again, and what the reasoner says
is drawn at random, lies included. The oracle counts tiers and contradictions by itself, from the log alone.
"""

import os
import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from operators.attributes import from_fact
from operators.contrast import ContrastOutcome, join_ranking, join_selection
from operators.evolve.proposals import Proposal, validate
from operators.learning.commands import resolve_command
from operators.learning.fold import fold, has_learned, initial_skill, merge
from operators.learning.limits import DEFAULT_LIMITS, MergeLimits, fit_seed
from operators.learning.prior import observe, statinit
from operators.learning.tiers import resolve_tiers
from operators.learning.update import resolve_choice
from operators.rank.listwise import repair
from operators.slim.rules import slim
from schemas import TOPICS, Contrast, Fact, ItemFacts, OpenRankings, Position, Profile, Provenance, decode, encode
from schemas.commands import Action, SkillCommand, SkillLineInput
from schemas.diffs import PolicySkill, SkillDiff
from schemas.skills import Attribute, AttributeKind, AttributeSource, Tier
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import (
    DOMAIN,
    NOW,
    USER,
    a_position,
    a_ranking,
    a_selection,
    a_skill,
    an_interaction,
    item_facts,
    open_rankings,
    read_item,
    render,
)

KEY = (USER, DOMAIN)
FEW = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
MANY = settings(FEW, max_examples=300 if os.environ.get("SAGER_TEST_EXPLORE") else 60)
"""The same ones every time: more of them are for those who look for others."""

ANY_TEXT = st.text(max_size=60) | st.text(st.characters(categories=("Cs", "Cc", "Cf", "Mn")), max_size=8)
VALUES = [
    "noir", "Noir", "NOIR!", "saga", "science fiction", "Science-Fiction", "🍕", "🍣", "की", "का", "$", "$$",
    "x" * 120, "avoid horror", "never again: romance", "wide 🧑‍🚀 value " * 7, *(f"v{n}" for n in range(8)),
]  # fmt: skip
FACT = st.builds(Fact, dimension=st.sampled_from(["genre", "mood", "era", "d" * 40]), value=st.sampled_from(VALUES))
TIER = st.sampled_from(list(Tier))
SEED_LINE = st.builds(
    from_fact,
    FACT,
    TIER,
    st.sampled_from([AttributeSource.PRIOR, AttributeSource.PRIOR, AttributeSource.GLOBAL]),
    support=st.integers(1, 50),
)
PATTERN = Attribute(
    attribute_id="pattern:exploration:stays-with-favourite-genres", kind=AttributeKind.PATTERN, dimension="exploration",
    value="stays with favourite genres", tier=Tier.HIGH, source=AttributeSource.PRIOR,
)  # fmt: skip
SEED = st.lists(SEED_LINE, max_size=12, unique_by=lambda a: a.attribute_id).map(lambda lines: (*lines, PATTERN))


FEW_LINES = MergeLimits(attributes=3, characters=800, seed_characters=200, pinned=2)
FEW_CHARACTERS = MergeLimits(characters=520, seed_characters=100, pinned=1)
LIMITS = st.sampled_from([DEFAULT_LIMITS, FEW_LINES, FEW_CHARACTERS])
"""The real ones, and such as make a history of thirty records call for evictions."""


USUAL = {"preference:genre:noir": 300, "preference:genre:saga": 100, "preference:mood:v1": 900}


@dataclass(frozen=True)
class PlayedRecord:
    """One record: a choice with what the reasoner will say of it, a command, or an earlier record once more."""

    chosen: tuple[Fact, ...] = ()
    reinforced: tuple[int | str, ...] = ()
    discovered: tuple[Fact, ...] = ()
    weakened: tuple[int | str, ...] = ()
    command: Action | None = None
    line: int = 0
    again: int | None = None
    moved: bool = False


NAMES = st.lists(st.integers(0, 30) | ANY_TEXT, max_size=4).map(tuple)
CHOICE = st.builds(
    lambda chosen, lies, reinforced, weakened: PlayedRecord(chosen, reinforced, (*chosen[:4], *lies), weakened),
    st.lists(FACT, max_size=6).map(tuple), st.lists(FACT, max_size=2), NAMES, NAMES,
)  # fmt: skip
WEAKENING = st.builds(PlayedRecord, weakened=st.lists(st.integers(0, 30), min_size=1, max_size=20).map(tuple))
COMMAND = st.builds(PlayedRecord, command=st.sampled_from([Action.PIN, *Action]), line=st.integers(0, 60))
AGAIN = st.builds(PlayedRecord, again=st.integers(0, 100), moved=st.booleans())
"""An earlier record once more: delivered again, or sent again by its producer, to another place of the topic."""
HISTORY = st.lists(CHOICE | WEAKENING | COMMAND | AGAIN, max_size=30) | st.lists(CHOICE | COMMAND, max_size=30)


@dataclass
class Stream:
    """One user's records through validate, resolve and merge, as the agent would."""

    seed: tuple[Attribute, ...]
    limits: MergeLimits = DEFAULT_LIMITS
    counts: bool = True
    skill: PolicySkill | None = None
    log: list[SkillDiff] = field(default_factory=list)
    played: list[tuple[Contrast | SkillCommand, Proposal, Position]] = field(default_factory=list)
    skills: list[PolicySkill] = field(default_factory=list)

    def play(self, history: list[PlayedRecord]) -> "Stream":
        for played in history:
            if played.again is not None:
                if self.played:
                    record, proposal, source = self.played[played.again % len(self.played)]
                    elsewhere = source.model_copy(update={"offset": 10_000, "timestamp_ms": 10_000})
                    self.deliver(record, proposal, elsewhere if played.moved else source)
                continue
            record, proposal = self.record(played)
            number = len(self.played)
            source = a_position(number, topic=f"sager.{record.TOPIC}", timestamp_ms=number)
            self.played.append((record, proposal, source))
            self.deliver(*self.played[-1])
        return self

    def record(self, played: PlayedRecord) -> tuple[Contrast | SkillCommand, Proposal]:
        number, held = len(self.played), self.newest(None).attributes

        def name(place: int | str) -> str:
            return held[place % len(held)].attribute_id if isinstance(place, int) and held else str(place)

        if played.command is not None:
            back = self.skills[played.line % len(self.skills)] if self.skills else None
            return SkillCommand(
                event_id=f"e{number}", occurred_at=NOW, user_id=USER, domain=DOMAIN, actor="ann", action=played.command,
                attribute_id=name(played.line).ljust(3, "?"), value=f"v {played.line}", tier=Tier(1 + played.line % 3),
                line=SkillLineInput(dimension="genre", value=f"v {played.line}" * 5, tier=Tier(1 + played.line % 3)),
                to_version=back.version if back else 0, lines=back.attributes if back else self.seed,
            ), Proposal()  # fmt: skip
        contrast = Contrast(
            event_id=f"e{number}", occurred_at=NOW, user_id=USER, domain=DOMAIN, ranking_id=f"r{number}",
            chosen=ItemFacts(item_id=f"i{number}", facts=played.chosen), chosen_rank=1,
            unchosen=(item_facts("left", "genre: unchosen", "mood: disliked"),),
        )  # fmt: skip
        return contrast, Proposal(
            reinforced=tuple(name(each) for each in played.reinforced),
            discovered=played.discovered,
            weakened=tuple(name(each) for each in played.weakened),
            reasoned_by=Provenance(reasoner="llm", model="liar"),
        )

    def newest(self, record: Contrast | SkillCommand | None) -> PolicySkill:
        if self.skill is not None:
            return self.skill
        seed = fit_seed(self.seed, self.limits)
        return a_skill(*seed, version=0) if record is None else initial_skill(USER, DOMAIN, seed, record)

    def deliver(self, record: Contrast | SkillCommand, proposal: Proposal, source: Position) -> None:
        skill = self.newest(record)
        if has_learned(skill, record.event_id, source):
            return
        if isinstance(record, Contrast) and self.counts:
            diff = resolve_choice(
                skill, validate(proposal, skill, record, privacy=PRIVACY), record, source, USUAL, self.limits
            )
        elif isinstance(record, Contrast):
            diff = resolve_tiers(skill, validate(proposal, skill, record, privacy=PRIVACY), record, source, self.limits)
        else:
            diff = resolve_command(skill, record, source, self.limits, privacy=PRIVACY, gate=OUTPUT_GATE)
        # As from the table and from the log: whatever bytes cannot hold is no state.
        self.skill = decode(PolicySkill, encode(merge(skill, diff)))
        self.skills.append(self.skill)
        self.log.append(decode(SkillDiff, encode(diff)))


@pytest.mark.parametrize("counts", [True, False])
@MANY
@given(SEED, HISTORY, LIMITS)
def test_a_skill_is_the_fold_of_its_log(
    counts: bool, seed: tuple[Attribute, ...], history: list[PlayedRecord], limits: MergeLimits
) -> None:
    """Invariant 1, at every version, and with every diff delivered twice or the whole log read again."""
    stream = Stream(seed, limits, counts=counts).play(history)

    for version, skill in enumerate(stream.skills, 1):
        assert encode(fold(stream.log[:version])[KEY]) == encode(skill)
    if stream.skill is not None:
        twice = [diff for diff in stream.log for _ in range(2)]
        assert encode(fold(twice)[KEY]) == encode(stream.skill)
        assert encode(fold([*stream.log, *stream.log])[KEY]) == encode(stream.skill)


@MANY
@given(SEED, HISTORY, LIMITS)
def test_the_log_has_each_record_once_in_order(
    seed: tuple[Attribute, ...], history: list[PlayedRecord], limits: MergeLimits
) -> None:
    """Invariant 2, the operators' part: duplicates change nothing, versions have no gap."""
    stream = Stream(seed, limits).play(history)

    assert [diff.event_id for diff in stream.log] == [record.event_id for record, _, _ in stream.played]
    assert [diff.version for diff in stream.log] == list(range(1, len(stream.log) + 1))
    assert [diff.base_version for diff in stream.log] == list(range(len(stream.log)))
    assert [diff.seed is not None for diff in stream.log] == [n == 0 for n in range(len(stream.log))]


@MANY
@given(SEED, HISTORY, LIMITS)
def test_every_version_stays_within_its_limits(
    seed: tuple[Attribute, ...], history: list[PlayedRecord], limits: MergeLimits
) -> None:
    """Invariant 4: 1,500 characters, also right after a command."""
    for skill in Stream(seed, limits).play(history).skills:
        assert len(render(skill)) <= limits.characters
        assert len(skill.attributes) <= limits.attributes
        assert sum(a.pinned for a in skill.attributes) <= limits.pinned
        assert len({a.attribute_id for a in skill.attributes}) == len(skill.attributes)


@MANY
@given(SEED, HISTORY, LIMITS)
def test_only_chosen_facts_and_the_seed_enter_a_skill(
    seed: tuple[Attribute, ...], history: list[PlayedRecord], limits: MergeLimits
) -> None:
    """Invariants 5 and 8: facts of unchosen items stay silent; never an invention, never another spelling."""
    stream = Stream(seed, limits).play(history)
    allowed = {(a.dimension, a.value) for a in seed}
    left = {("genre", "unchosen"), ("mood", "disliked")}

    for skill, (record, _, _) in zip(stream.skills, stream.played, strict=True):
        if isinstance(record, Contrast):
            allowed |= {(fact.dimension, fact.value) for fact in record.chosen.facts}
        elif record.action is Action.ADD and record.line is not None:
            allowed.add((record.line.dimension, record.line.value))
        elif record.action is Action.REWORD:
            allowed |= {(dimension, record.value) for dimension, _ in allowed}
        assert {(a.dimension, a.value) for a in skill.attributes if a.tier} <= allowed
        assert {(a.dimension, a.value) for a in skill.attributes} <= allowed | left
        assert set(skill.strategy.must_include) <= {value for _, value in allowed}
        assert not skill.stated
        assert not slim(skill, gate=OUTPUT_GATE).avoids


@settings(FEW, max_examples=2)
@given(st.integers(0, 10**6))
def test_a_skills_bytes_do_not_grow_with_history(seed: int) -> None:
    """Invariant 4: after 300 choices of items that were never seen before, a skill is no bigger than after 60."""
    chance = random.Random(seed)
    stream = Stream(())
    for number in range(300):
        chosen = tuple(
            Fact(
                dimension=chance.choice(["genre", "mood", "d" * 40]),
                value=f"{number} {n} {'🍕' * chance.randrange(100)}",
            )
            for n in range(4)
        )
        held = stream.newest(None).attributes
        name = chance.choice(held).attribute_id if held else "none"
        stream.play([PlayedRecord(chosen, (name,), chosen, (chance.choice(held).attribute_id,) if held else ())])

    sizes = [len(encode(skill)) for skill in stream.skills]
    assert max(sizes[60:]) < 64 * 1024
    assert max(sizes[200:]) <= 1.3 * max(sizes[60:200])
    assert max(len(encode(diff)) for diff in stream.log) < 32 * 1024


def test_the_widest_skill_fits_its_document() -> None:
    """Protected lines fill the seed's share, all pins are on the longest lines: nothing may be evicted."""

    def wide(dimension: str, n: int, tier: Tier, source: AttributeSource) -> Attribute:
        line = from_fact(Fact(dimension=dimension, value=f"{n:02}" + "W" * 118), tier, source, support=n)
        return line.model_copy(update={"dimension": dimension.ljust(40, "x")})

    for size in (*range(1, 60), 120):
        lines = [
            from_fact(
                Fact(dimension=d, value=f"{n:02}"[:size] + "W" * (size - 2)),
                Tier.HIGH,
                AttributeSource.PRIOR,
                support=n,
            )
            for n, d in enumerate(["era", *["genre"] * 39])
        ]
        seed = fit_seed((PATTERN, *lines))
        pinned = [
            wide("genre", n, Tier.MEDIUM, AttributeSource.DISCOVERED).model_copy(update={"pinned": True})
            for n in range(4)
        ]
        full = a_skill(*seed, *pinned)
        contrast = Contrast(
            event_id="e", occurred_at=NOW, user_id=USER, domain=DOMAIN, ranking_id="r", chosen_rank=1,
            chosen=item_facts("i", "genre: fresh"),
        )  # fmt: skip
        proposal = Proposal(discovered=contrast.chosen.facts, reinforced=tuple(a.attribute_id for a in pinned))

        skill = merge(full, resolve_tiers(full, validate(proposal, full, contrast, privacy=PRIVACY), contrast))

        assert len(render(skill)) <= DEFAULT_LIMITS.characters, size


@FEW
@given(st.lists(st.tuples(st.sampled_from("RS"), st.integers(0, 5), st.sampled_from(["a", "b", "x"])), max_size=40))
def test_a_ranking_gives_at_most_one_contrast(
    events: list[tuple[str, int, str]],
) -> None:
    state, found, shown, chosen = open_rankings(), Counter[str](), set[str](), dict[str, list[str]]()
    for offset, (event, number, item) in enumerate(events):
        name, source = f"r{number}", a_position(offset)
        if event == "R":
            shown.add(name)
            step = join_ranking(state, a_ranking(name, ["a", "b"]), read_item, source)
        else:
            chosen.setdefault(name, []).append(item)
            step = join_selection(state, a_selection(name, item), source)
        state = decode(OpenRankings, encode(step.state))
        assert step.outcome in ContrastOutcome
        if step.contrast:
            found[step.contrast.ranking_id] += 1
            assert step.contrast.chosen.item_id in chosen[step.contrast.ranking_id]

    assert set(found.values()) <= {1}
    for name in shown:
        assert found[name] == 1 or not {"a", "b"} & set(chosen.get(name, [])) or chosen[name][0] == "x"


@FEW
@given(st.lists(st.lists(FACT, max_size=8), max_size=40), st.integers(0, 39))
def test_a_prior_is_bounded_and_ignores_repeats(items: list[list[Fact]], again: int) -> None:
    """Invariants 2 and 4 for profiles; a seed that holds no attribute twice."""
    interactions = [(an_interaction(event_id=f"e{n}"), tuple(facts)) for n, facts in enumerate(items)]
    profile = None
    for interaction, facts in interactions:
        profile = observe(profile, interaction, facts)
    if profile is None:
        return
    lines = statinit(profile)

    assert len({a.attribute_id for a in lines}) == len(lines) <= 41
    assert {(a.dimension, a.value) for a in lines if a.kind is not AttributeKind.PATTERN} <= {
        (fact.dimension, fact.value) for facts in items for fact in facts
    }
    assert decode(Profile, encode(profile)) == profile
    assert len(encode(profile)) < TOPICS["profiles"].max_message_bytes / 4
    interaction, facts = interactions[-1 - min(again, 31, len(interactions) - 1)]
    assert observe(profile, interaction, facts) == profile


@MANY
@given(st.lists(st.text(max_size=3) | st.sampled_from("abc")), st.lists(st.sampled_from("abcdefg"), unique=True))
def test_a_repaired_order_is_a_permutation(said: list[str], names: list[str]) -> None:
    order, repairs = repair(said, [ItemFacts(item_id=name) for name in names])

    assert sorted(order) == sorted(names)
    assert (repairs == 0) is (sorted(said) == sorted(names))
