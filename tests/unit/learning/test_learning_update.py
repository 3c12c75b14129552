"""Counting (paper 2.5): what a choice adds to each line, which tier follows, and what has to go."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.attributes import RankedLine, ranked_lines
from operators.evolve.proposals import Proposal, validate
from operators.learning.commands import resolve_command
from operators.learning.evidence import DECAY, bet, counts_for_tier
from operators.learning.fold import fold, initial_skill, merge
from operators.learning.limits import MergeLimits
from operators.learning.tiers import tier_of
from operators.learning.update import resolve_choice, resolve_visit
from operators.weights import UNKNOWN_DIMENSION
from schemas import Action, Contrast, PolicySkill, Provenance, SkillChangeKind, SkillDiff, encode
from schemas.skills import MAX_HYPOTHESES, ONE, Attribute, AttributeSource, Tier
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import a_command, a_contrast, a_skill, an_attribute, an_interaction, id_of, item_facts

NOIR, SAGA, EPIC = "genre: noir", "genre: saga", "genre: epic"
REAL = MergeLimits()
COUNTED = Proposal(reasoned_by=Provenance(reasoner="counts"))


def chose(
    skill: PolicySkill,
    contrast: Contrast,
    proposal: Proposal = COUNTED,
    usual: Mapping[str, int] | None = None,
    limits: MergeLimits = REAL,
) -> tuple[PolicySkill, SkillDiff]:
    diff = resolve_choice(skill, validate(proposal, skill, contrast, privacy=PRIVACY), contrast, None, usual, limits)
    return merge(skill, diff), diff


def played(
    choices: Sequence[tuple[str, Sequence[str]]], usual: Mapping[str, int] | None = None
) -> tuple[PolicySkill, list[SkillDiff]]:
    skill, log = initial_skill("ann", "films", (), a_contrast()), list[SkillDiff]()
    for number, (taken, left) in enumerate(choices):
        item = item_facts(f"i{number}", taken)
        contrast = a_contrast(item, [[each] for each in left], event_id=f"c{number}", by_sager=True)
        skill, diff = chose(skill, contrast, usual=usual)
        log.append(diff)
    return skill, log


def the(skill: PolicySkill, words: str) -> RankedLine:
    return next(line for line in ranked_lines(skill) if line.attribute_id == id_of(words))


def counted(words: str, taken: float, expected: float, tier: Tier = Tier.LOW, **more: object) -> Attribute:
    line = an_attribute(words, tier, support=9)
    return line.model_copy(update={"taken": int(taken * ONE), "expected": int(expected * ONE), **more})


class TestOneChoice:
    def test_a_choice_decays_and_adds_counts(self) -> None:
        """`expected` is the chance of the value to a model without the line: alone, that of a blind choice."""
        skill = a_skill(counted(NOIR, 3, 1), counted(EPIC, 3, 1))

        after, diff = chose(skill, a_contrast([NOIR], [[SAGA], [SAGA], ["genre: farce"]]))

        faded = 3 * ONE - 3 * ONE // DECAY, ONE - ONE // DECAY
        assert (the(after, NOIR).taken, the(after, NOIR).expected) == (faded[0] + ONE, faded[1] + ONE // 4)
        assert (the(after, EPIC).taken, the(after, EPIC).expected) == faded
        assert diff.count_delta is not None
        assert diff.count_delta.lines[id_of(NOIR)] == (ONE, ONE // 4, bet(3 * ONE, ONE, ONE // 4, ONE))

    def test_a_value_first_taken_forgets_most_of_how_often_it_was_left(self) -> None:
        skill, _ = played([(SAGA, [NOIR, NOIR])] * 4)
        assert the(skill, NOIR).expected > ONE

        after, _ = chose(skill, a_contrast([NOIR], [[SAGA], [SAGA]], event_id="first", by_sager=True))

        assert the(after, NOIR).taken == ONE
        assert the(after, NOIR).expected < ONE + ONE // 4

    def test_a_line_is_expected_as_far_as_the_others_explain_the_choice(self) -> None:
        both = [NOIR, "author: Mina"]
        known = a_skill(counted(NOIR, 3, 1), counted("author: Mina", 20, 1))

        alone, explained = (
            chose(skill, a_contrast(both, [[SAGA]]))[0] for skill in (a_skill(counted(NOIR, 3, 1)), known)
        )

        assert the(alone, NOIR).expected == ONE - ONE // DECAY + ONE // 2
        assert the(explained, NOIR).expected > ONE - ONE // DECAY + 3 * ONE // 4

    def test_new_facts_are_hypotheses(self) -> None:
        """Those of a quarter of the list too, though left: the person may avoid them."""
        rare = [["genre: farce"], ["genre: opera"], ["genre: epos"]]
        after, diff = chose(a_skill(), a_contrast([NOIR, "author: Mina"], [[SAGA], [SAGA], *rare]))

        assert (diff.changes, after.attributes) == ((), ())
        taken = {name: counts[0] for name, counts in after.hypotheses.items()}
        assert taken == {id_of(NOIR): ONE, id_of("author: Mina"): ONE, id_of(SAGA): 0}

    def test_a_hypothesis_becomes_a_line_with_its_spelling_and_counts_when_it_has_proved_itself(self) -> None:
        name, before, after = id_of("author: Mina"), a_skill(), a_skill()
        for number in range(8):
            if name not in before.hypotheses or name in after.hypotheses:
                mina = a_contrast(
                    [f"author: {'MINA' if number else 'Mina'}"], [[SAGA], [EPIC], [NOIR]], event_id=f"c{number}"
                )
                before, (after, diff) = after, chose(after, mina)

        line = the(after, "author: Mina")
        assert isinstance(line, Attribute)
        assert (line.value, line.tier, name in after.hypotheses) == ("MINA", Tier.LOW, False)
        taken, _, proof = before.hypotheses[name]
        assert proof < ONE <= line.proof
        assert line.taken == taken - taken // DECAY + ONE
        assert line.support == round(line.taken / ONE)
        assert SkillChangeKind.DISCOVERED in [change.kind for change in diff.changes]
        assert diff.count_delta is not None
        assert name not in diff.count_delta.lines

    def test_the_least_taken_hypotheses_leave_without_a_record(self) -> None:
        skill = a_skill()
        for number in range(MAX_HYPOTHESES):
            skill, diff = chose(skill, a_contrast([f"mood: m{number}"], [[SAGA]], event_id=f"e{number}", by_sager=True))

        assert len(skill.hypotheses) == MAX_HYPOTHESES
        assert id_of(SAGA) not in skill.hypotheses, "it was never taken"
        skill, diff = chose(skill, a_contrast(["mood: new"], [["mood: new"]], event_id="new", by_sager=True))
        assert id_of("mood: m0") not in skill.hypotheses
        assert {id_of("mood: m1"), id_of("mood: new")} <= skill.hypotheses.keys()
        assert diff.changes == ()


class TestTiers:
    def test_a_line_rises_one_tier_per_choice_and_falls_when_ignored(self) -> None:
        skill, log = played([(NOIR, [SAGA] * 9)] * 7 + [(SAGA, [NOIR] * 9)] * 16)

        moves = [
            (c.before, c.after) for d in log for c in d.changes if c.attribute_id == id_of(NOIR) and c.before != c.after
        ]
        rises = [(None, Tier.LOW), (Tier.LOW, Tier.MEDIUM), (Tier.MEDIUM, Tier.HIGH)]
        assert moves[: len(rises)] == rises
        falls = [after for before, after in moves if before is not None and after is not None and after < before]
        assert falls == sorted(falls, reverse=True)
        assert the(skill, NOIR).tier is Tier.SILENT

    @pytest.mark.parametrize("tier", [Tier.LOW, Tier.MEDIUM, Tier.HIGH])
    @given(expected=st.integers(0, 40 * ONE))
    def test_a_stated_tier_survives_one_miss(self, tier: Tier, expected: int) -> None:
        enough = counts_for_tier(tier, expected)

        assert tier_of(enough, expected, AttributeSource.GLOBAL) is tier
        half_a_list = enough - enough // DECAY + ONE, expected - expected // DECAY + ONE // 2
        assert tier_of(*half_a_list, AttributeSource.GLOBAL) >= tier

    def test_a_stated_line_does_not_fade(self) -> None:
        said = counted(NOIR, 2.5, 0, Tier.HIGH, source=AttributeSource.STATED)
        skill = a_skill(said)

        for _ in range(30):
            skill, _ = chose(skill, a_contrast([SAGA], [[EPIC]]))
        assert (the(skill, NOIR).taken, the(skill, NOIR).tier) == (said.taken, Tier.HIGH)
        for _ in range(60):
            skill, _ = chose(skill, a_contrast([SAGA], [[NOIR]]))
        assert the(skill, NOIR).tier is Tier.LOW

    def test_a_set_tier_gets_matching_counts_and_proof(self) -> None:
        skill = a_skill(counted(NOIR, 0.5, 4, Tier.SILENT))
        command = a_command(Action.SET_TIER, attribute_id=id_of(NOIR), tier=Tier.HIGH)

        after = merge(skill, resolve_command(skill, command, privacy=PRIVACY, gate=OUTPUT_GATE))

        assert the(after, NOIR).tier is Tier.HIGH
        after, _ = chose(after, a_contrast([SAGA], [[EPIC]]))
        assert the(after, NOIR).tier is Tier.HIGH, "the next choice keeps it"
        for _ in range(3):
            after, _ = chose(after, a_contrast([SAGA], [[NOIR]] * 3))
        assert the(after, NOIR).tier < Tier.HIGH


def test_a_late_event_begins_no_inactivity() -> None:
    skill, _ = chose(a_skill(counted(NOIR, 6, 1)), a_contrast([NOIR], [[SAGA]]))
    by_a_wrong_clock = a_contrast([NOIR], [[SAGA]]).model_copy(update={"occurred_at": datetime(1970, 1, 1, tzinfo=UTC)})

    skill, _ = chose(skill, by_a_wrong_clock)
    _, diff = chose(skill, a_contrast([NOIR], [[SAGA]]))

    assert diff.count_delta is not None
    assert diff.count_delta.aged == 0


def test_a_visit_uses_the_populations_shares() -> None:
    skill = a_skill(counted(NOIR, 3, 1), counted(SAGA, 3, 1))
    visit = an_interaction(event_id="v1")

    diff = resolve_visit(skill, visit, item_facts("i", NOIR), usual={id_of(NOIR): 200, id_of(SAGA): 300})
    after = merge(skill, diff)

    assert diff.count_delta is not None
    bets = (bet(3 * ONE, ONE, 200, ONE), bet(3 * ONE, ONE, 300, 0))
    assert diff.count_delta.lines == {id_of(NOIR): (ONE, 200, bets[0]), id_of(SAGA): (0, 300, bets[1])}
    assert (after.contrasts, after.version, diff.is_contrast) == (skill.contrasts, skill.version + 1, False)
    assert the(after, NOIR).support == 10


def test_a_list_that_was_taken_whole_takes_the_lines_of_all_its_items() -> None:
    both = a_contrast([NOIR]).model_copy(update={"also": (item_facts("other", SAGA),)})

    skill, diff = chose(a_skill(counted(NOIR, 3, 1), counted(SAGA, 3, 1), counted(EPIC, 3, 1)), both)

    assert diff.count_delta is not None
    assert [diff.count_delta.lines[id_of(words)][0] for words in (NOIR, SAGA)] == [ONE // 2] * 2
    assert the(skill, SAGA).proof > the(skill, EPIC).proof


def test_the_least_taken_line_is_evicted() -> None:
    proven = {id_of(NOIR): (4 * ONE, ONE, ONE)}
    skill = a_skill(counted(SAGA, 3, 1), counted(EPIC, 0.4, 0.1)).model_copy(update={"hypotheses": proven})

    after, diff = chose(skill, a_contrast([NOIR], [["genre: farce"]]), limits=MergeLimits(attributes=2))

    assert {line.value for line in after.attributes} == {"saga", "noir"}
    assert [c.attribute_id for c in diff.changes if c.kind is SkillChangeKind.EVICTED] == [id_of(EPIC)]


MOODS = ("noir", "saga", "epic", "farce", "opera")
LISTS = st.lists(
    st.tuples(st.sampled_from(MOODS), st.lists(st.sampled_from(MOODS), min_size=1, max_size=9)), min_size=1, max_size=40
)


@settings(max_examples=60, deadline=None)
@given(LISTS)
def test_counts_equal_a_plain_ledger(choices: list[tuple[str, list[str]]]) -> None:
    """By another way: a ledger per value of taken, expected and proof, without lines, diffs or folds.

    Of an unknown dimension, which has no habits.
    """
    skill, log = played([(f"flavour: {taken}", [f"flavour: {value}" for value in left]) for taken, left in choices])
    ledger: dict[str, list[float]] = {}
    for taken, left in choices:
        shown = [taken, *left]
        odds = {value: (counts[0] + 1) / (counts[1] + 1) for value, counts in ledger.items()}
        force = [odds.get(value, 1.0) ** UNKNOWN_DIMENSION for value in shown]
        for value, counts in ledger.items():
            # Without its own line, an item has no more force than a new one.
            own, share = shown.count(value), shown.count(value) / len(shown)
            others = sum(each for other, each in zip(shown, force, strict=True) if other != value)
            is_bet = odds[value] > 1 and 0 < share < 1
            nats = math.log((odds[value] if value == taken else 1) / (1 - share + share * odds[value])) if is_bet else 0
            more = (value == taken, own / (own + others) if own else 0.0, nats)
            if value == taken and not counts[0]:
                counts[1] = min(counts[1], 0.5)
            ledger[value] = [held * 15 / 16 + added for held, added in zip(counts, more, strict=True)]
        for value in set(shown) - ledger.keys():
            if value == taken or shown.count(value) >= len(shown) / 4:
                ledger[value] = [float(value == taken), shown.count(value) / sum(force), 0.0]

    found = {
        line.attribute_id.rpartition(":")[2]: [count / ONE for count in (line.taken, line.expected, line.proof)]
        for line in ranked_lines(skill)
    }
    assert found.keys() == ledger.keys()
    assert all(found[value] == pytest.approx(counts, abs=0.06) for value, counts in ledger.items())
    assert encode(fold(log)["ann", "films"]) == encode(skill)
    for line in skill.attributes:
        assert line.tier is tier_of(line.taken, line.expected, line.source, line.proof)
