"""What a person's command does to a skill: correct, freeze, roll back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.evolve.proposals import Proposal, ValidatedProposal
from operators.learning.commands import resolve_command
from operators.learning.fold import fold, initial_skill, merge
from operators.learning.limits import MergeLimits
from operators.learning.update import resolve_choice
from schemas import Action, BadRecord, PolicySkill, SkillCommand, SkillLineInput, decode, encode
from schemas.skills import ONE, AttributeKind, AttributeSource, Tier
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import DOMAIN, USER, a_command, a_contrast, a_skill, an_attribute, id_of

NOIR, SAGA = "genre: noir", "genre: saga"


def after(skill: PolicySkill, command: SkillCommand, **limits: int) -> PolicySkill:
    return merge(
        skill, resolve_command(skill, command, limits=MergeLimits(**limits), privacy=PRIVACY, gate=OUTPUT_GATE)
    )


def test_an_added_line_has_its_words_and_event() -> None:
    command = a_command(Action.ADD, line=SkillLineInput(dimension="genre", value="Film Noir", tier=Tier.MEDIUM))

    skill = after(a_skill(an_attribute(SAGA)), command)

    line = skill.attributes[-1]
    assert (line.attribute_id, line.value, line.tier) == ("preference:genre:film-noir", "Film Noir", Tier.MEDIUM)
    assert (line.source, line.kind) == (AttributeSource.STATED, AttributeKind.PREFERENCE)
    assert [evidence.event_id for evidence in line.evidence] == [command.event_id]


def test_an_added_line_fits_or_is_refused() -> None:
    pinned = [an_attribute(f"genre: g{n}", Tier.HIGH, pinned=True) for n in range(2)]
    loose = an_attribute("genre: loose", Tier.LOW)

    assert [a.value for a in after(a_skill(*pinned, loose), a_command(Action.ADD), attributes=3).attributes] == [
        "g0", "g1", "noir",
    ]  # fmt: skip
    diff = resolve_command(
        a_skill(*pinned), a_command(Action.ADD), limits=MergeLimits(attributes=2), privacy=PRIVACY, gate=OUTPUT_GATE
    )
    assert ([r.why.value for r in diff.refused], diff.changes) == (["full"], ())


def test_a_reworded_line_keeps_its_counts() -> None:
    line = an_attribute(NOIR, Tier.HIGH, support=7, pinned=True)

    [reworded] = after(a_skill(line), a_command(Action.REWORD, value="neo-noir")).attributes

    assert reworded.attribute_id == "preference:genre:neo-noir"
    assert (reworded.tier, reworded.support, reworded.pinned) == (Tier.HIGH, 7, True)
    assert reworded.source is AttributeSource.STATED


@pytest.mark.parametrize("tier", list(Tier)[1:])
def test_a_set_tier_applies_at_once(tier: Tier) -> None:
    """And evidence against the line begins again: else the next list could undo what the person did."""
    given_ = a_skill(an_attribute(NOIR, Tier.LOW, contradictions=1, drift=3_000))

    [line] = after(given_, a_command(Action.SET_TIER, tier=tier)).attributes

    assert line.tier is tier
    assert (line.contradictions, line.drift) == ((1, 3_000) if tier is Tier.LOW else (0, 0))


def test_freeze_holds_until_unfreeze() -> None:
    frozen = after(a_skill(an_attribute(NOIR)), a_command(Action.FREEZE))
    still = after(frozen, a_command(Action.PIN))

    assert (frozen.frozen, still.frozen) == (True, True)
    assert not after(still, a_command(Action.UNFREEZE)).frozen


def test_pin_and_unpin_change_only_the_pin() -> None:
    given_ = a_skill(an_attribute(NOIR, Tier.LOW))
    tested = a_skill(an_attribute(NOIR, Tier.LOW, drift=3_000))

    pinned = after(given_, a_command(Action.PIN, actor="bo", reason="mine"))
    assert after(tested, a_command(Action.PIN, actor="bo", reason="mine")).attributes == pinned.attributes
    unpinned = after(pinned, a_command(Action.UNPIN))

    assert pinned.attributes == (given_.attributes[0].model_copy(update={"pinned": True}),)
    assert unpinned.attributes == given_.attributes
    assert (pinned.version, pinned.contrasts) == (given_.version + 1, given_.contrasts)
    assert pinned.last_diff is not None
    assert pinned.last_diff.reasoned_by.reasoner == "command by bo"
    assert pinned.last_diff.changes[0].reason == "mine"


def test_remove_also_removes_pinned_and_protected_lines() -> None:
    given_ = a_skill(an_attribute(NOIR, Tier.HIGH, pinned=True), an_attribute(SAGA))

    assert after(given_, a_command(Action.REMOVE)).attributes == given_.attributes[1:]


def test_pins_are_capped() -> None:
    given_ = a_skill(*[an_attribute(f"genre: g{n}", pinned=True) for n in range(4)], an_attribute(NOIR))

    capped = after(given_, a_command(Action.PIN))

    assert capped.attributes == given_.attributes
    assert capped.last_diff is not None
    assert [refused.why.value for refused in capped.last_diff.refused] == ["capped"]


ACTIONS = st.lists(
    st.tuples(st.sampled_from([a for a in Action if a is not Action.ROLL_BACK]), st.sampled_from([NOIR, SAGA])),
    max_size=8,
)


@given(ACTIONS, ACTIONS)
def test_a_roll_back_restores_lines_and_keeps_the_log(
    first: list[tuple[Action, str]], second: list[tuple[Action, str]]
) -> None:
    seed = (an_attribute(NOIR), an_attribute("mood: dark", Tier.HIGH))
    skill, log = initial_skill(USER, DOMAIN, seed, a_command()), []

    def carry_out(command: SkillCommand) -> None:
        nonlocal skill
        log.append(resolve_command(skill, command, privacy=PRIVACY, gate=OUTPUT_GATE))
        skill = merge(skill, log[-1])

    for action, text in first:
        carry_out(a_command(action, text))
    then = skill
    for action, text in second:
        carry_out(a_command(action, text))
    carry_out(a_command(Action.ROLL_BACK, to_version=then.version, lines=then.attributes))

    assert {line.attribute_id: line for line in skill.attributes} == {a.attribute_id: a for a in then.attributes}
    assert skill.strategy == then.strategy
    assert log[-1].rolled_back_to == then.version
    assert [diff.version for diff in log] == list(range(1, len(log) + 1))
    assert fold(log)[skill.user_id, skill.domain] == skill


@pytest.mark.parametrize("action", [Action.ROLL_BACK, Action.IMPORT])
def test_an_earlier_version_restores_its_hypotheses(action: Action) -> None:
    log, skill = [], initial_skill(USER, DOMAIN, (), a_command())
    for number, words in enumerate([NOIR, SAGA, SAGA, NOIR]):
        contrast = a_contrast([words], [["mood: dark"]], event_id=f"c{number}", by_sager=True)
        log.append(resolve_choice(skill, ValidatedProposal(Proposal()), contrast))
        skill = merge(skill, log[-1])
    then = fold(log[:2])[USER, DOMAIN]
    assert then.hypotheses.keys() == {id_of(NOIR), id_of(SAGA), id_of("mood: dark")}
    private = {"preference:health:hiv-positive": (ONE, 0, 0)}

    command = a_command(action, lines=then.attributes, hypotheses=then.hypotheses | private)
    log.append(resolve_command(skill, command, privacy=PRIVACY, gate=OUTPUT_GATE))

    restored = fold(log)[USER, DOMAIN]
    assert (restored.attributes, restored.hypotheses) == (then.attributes, then.hypotheses)


@pytest.mark.parametrize("action", list(Action))
def test_an_incomplete_command_is_a_bad_record(action: Action) -> None:
    whole = a_command(action)
    bare = whole.model_copy(
        update={"attribute_id": None, "line": None, "value": None, "tier": None, "to_version": None, "lines": None}
    )

    if action in (Action.FREEZE, Action.UNFREEZE):
        assert decode(SkillCommand, encode(bare)) == bare
        return
    with pytest.raises(BadRecord, match="needs"):
        decode(SkillCommand, encode(bare))
