"""A replay with the same knobs is the fold of the log; with others, what had been learned with them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.evolve import Proposal, ReasonerUnavailable
from operators.merge import MergeLimits, OutOfOrder, start
from operators.whatif import Held, Series, Step, series
from schemas import Action, Contrast, PolicySkill, encode
from tests.builders import DOMAIN, USER, a_command, a_contrast, a_position, id_of
from tests.unit.whatif.whatif_builders import GENRES, SEED, LiveSide, a_choice, an_arm, replayed

COMMANDS = (Action.FREEZE, Action.UNFREEZE, Action.PIN, Action.REMOVE, Action.ADD, Action.SET_TIER, Action.REWORD)
events = st.lists(
    st.one_of(st.sampled_from(GENRES), st.sampled_from(GENRES), st.sampled_from(COMMANDS)), min_size=1, max_size=25
)


def played(happened: list[str | Action], rounds: int | None = None) -> LiveSide:
    live = LiveSide(an_arm(rounds=rounds))
    for number, event in enumerate(happened):
        if isinstance(event, Action):
            live.command(a_command(event))
        else:
            live.choose(a_choice(number, event))
    return live


@given(events, st.integers(0, 6), st.sampled_from([None, 0, 3]))
@settings(max_examples=60)
def test_with_the_same_knobs_a_replay_is_the_fold_of_the_log(
    happened: list[str | Action], forgotten: int, rounds: int | None
) -> None:
    live = played(happened, rounds)
    if not live.diffs:
        return
    told = live.series(forgotten)
    moments = replayed(told, an_arm(rounds=rounds))

    assert all(encode(moment.live) == encode(moment.other) for moment in moments)
    assert all(moment.live_place == moment.other_place for moment in moments)
    if told.choices:
        assert moments[-1].live == live.folded()
    assert told.missing == 0
    assert told.choices + told.pending == len(live.held[forgotten:])


def test_other_limits_lead_to_another_skill_and_leave_the_live_one_alone() -> None:
    live = played(["farce"] * 8)

    last = replayed(live.series(), an_arm(MergeLimits(attributes=2)))[-1]

    assert last.live == live.folded()
    assert len(last.other.attributes) == 2 < len(last.live.attributes)


def test_what_a_skill_learns_from_a_choice_helps_it_at_the_next_one_only() -> None:
    live = played(["farce"] * 8)

    moments = replayed(live.series(), an_arm(rounds=0))

    assert moments[0].live_place == moments[0].other_place, "both rank with the seed"
    assert moments[-1].live_place < moments[-1].other_place


def test_a_command_of_a_person_is_carried_out_on_both_sides() -> None:
    live = played(["farce", "farce", Action.FREEZE, "farce", "epic"])

    moments = replayed(live.series(), an_arm(MergeLimits(discoveries=1)))

    assert [moment.contrast is None for moment in moments] == [False, False, True, False, False]
    assert moments[-1].other.frozen
    assert moments[-1].other.version == 3


def test_what_the_person_says_is_heard_on_both_sides() -> None:
    live = played(["farce", "farce"])
    live.hear("farce")
    live.choose(a_choice(7, "epic"))

    told = live.series()
    moments = replayed(told, an_arm(MergeLimits(discoveries=1)))

    assert told.missing == 0
    assert len(moments) == 2 + 3 + 1
    assert [each.statement_id for each in moments[-1].other.stated] == [f"avoids:{id_of('genre: farce')}"]
    assert moments[-1].other.shifted == moments[-1].live.shifted == 4


def test_choices_before_those_at_hand_are_shared() -> None:
    live = played(["farce"] * 6)

    told = live.series(forgotten=4)

    assert (told.start.version, told.choices) == (4, 2)


def test_choices_that_nobody_has_learned_from_yet_are_left_out() -> None:
    live = played(["farce"] * 3)
    told = series(live.diffs[:2], live.held, {}, live.arm.step.passes_over)

    assert (told.choices, told.pending) == (2, 1)


def test_a_choice_that_got_lost_in_between_is_missing_on_one_side() -> None:
    live = played(["farce"] * 4)
    told = series(live.diffs, [live.held[0], *live.held[2:]], {}, live.arm.step.passes_over)
    last = replayed(told)[-1]

    assert told.missing == 1
    assert (last.live.version, last.other.version) == (4, 3)


def test_a_log_with_a_gap_is_told() -> None:
    live = played(["farce"] * 3)

    with pytest.raises(OutOfOrder):
        series([live.diffs[0], live.diffs[2]], live.held, {}, live.arm.step.passes_over)


def test_without_an_answer_nothing_is_learned_and_the_replay_goes_on() -> None:
    async def away(contrast: Contrast, skill: PolicySkill) -> Proposal:
        raise ReasonerUnavailable("timeout", "no answer")

    moments = replayed(played(["farce"] * 2).series(), an_arm(reason=away))

    assert [moment.unavailable for moment in moments] == ["timeout", "timeout"]
    assert moments[-1].other == moments[0].other


def test_what_is_private_is_learned_by_neither_side() -> None:
    """Older workers have left on the topic what is not learned any more."""
    contrast = a_contrast(["genre: farce", "author: ann@example.org"], [["genre: saga"]])
    step = Step(None, Held(contrast.event_id, encode(contrast), a_position()))
    [moment] = replayed(Series(start(USER, DOMAIN, SEED, contrast), (step,), 0, 0))

    learned = {line.attribute_id for line in moment.other.attributes} - {line.attribute_id for line in SEED}
    assert learned == {id_of("genre: farce")}
