"""A replay with the same settings is the fold of the log; with others, what they would have taught."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.learning.limits import MergeLimits
from operators.options import EvolveMode
from operators.slim.selection import SlimSelection
from operators.whatif import differences
from schemas import Action, Provenance, encode
from streams.operations.whatif import InvalidVariant, variant_of
from streams.settings import Settings
from tests.builders import a_command
from tests.unit.whatif.whatif_builders import GENRES, LiveSide, a_choice, an_arm, replayed

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
def test_with_the_same_settings_a_replay_is_the_fold_of_the_log(
    happened: list[str | Action], forgotten: int, rounds: int | None
) -> None:
    live = played(happened, rounds)
    if not live.diffs:
        return
    told = live.series(forgotten)
    moments = replayed(told, an_arm(rounds=rounds))

    assert all(encode(moment.live) == encode(moment.other) for moment in moments)
    assert all(moment.places[0] == moment.places[1] for moment in moments)
    if told.choices:
        assert moments[-1].live == live.folded()
    assert told.missing == 0


def test_versions_written_after_the_choices_were_read_are_left_out() -> None:
    live = played(["farce"] * 8)
    for event_id in list(live.held)[-2:]:
        del live.held[event_id]

    told = live.series()

    assert (told.missing, told.choices, len(told.steps)) == (0, 6, 6)


def test_other_limits_change_the_other_skill_only() -> None:
    live = played(["farce"] * 8)

    last = replayed(live.series(), an_arm(MergeLimits(attributes=2)))[-1]

    assert last.live == live.folded()
    assert len(last.other.attributes) == 2 < len(last.live.attributes)


def test_a_command_applies_to_both_sides() -> None:
    live = played(["farce", "farce", Action.FREEZE, "farce", "epic"])

    moments = replayed(live.series(), an_arm(MergeLimits(pinned=2)))

    assert [moment.contrast is None for moment in moments] == [False, False, True]
    assert moments[-1].other.frozen


def test_a_replay_keeps_a_models_selection_of_slim_lines() -> None:
    side = an_arm()
    side = replace(side, step=replace(side.step, slim_tokens=30, extract_by_model=True))
    live = LiveSide(side)
    live.choose(a_choice(0, "noir"), SlimSelection(("preference:genre:saga",), Provenance(reasoner="llm", model="m")))
    live.choose(a_choice(1, "noir"))

    first, last = replayed(live.series(), side)

    assert first.live.slim_lines == ("preference:genre:saga",)
    assert encode(first.live) == encode(first.other)
    assert encode(last.live) == encode(last.other)


def test_both_sides_share_the_choices_before_the_available_ones() -> None:
    told = played(["farce"] * 6).series(forgotten=4)

    assert (told.start.version, told.choices) == (4, 2)


def test_the_confidence_interval_samples_users() -> None:
    few = differences([("ann", 1, 3), ("bob", 3, 1)] * 50)["hit_at_1"]
    many = differences([(f"{name}-{n}", *both) for n in range(50) for name, both in (("a", (1, 3)), ("b", (3, 1)))])
    narrow = many["hit_at_1"]

    assert narrow.delta == few.delta == 0
    assert narrow.margin is not None
    assert few.margin is not None
    assert narrow.margin < 0.3 < few.margin
    assert differences([("ann", 2, 1)])["hit_at_1"].margin is None


def test_settings_are_changed_by_name() -> None:
    given = ["evolve_mode=paper", "warmup_rounds=3", "warmup_rounds=4"]
    variant, changed = variant_of(Settings(prefix="a."), given)

    assert changed == {"evolve_mode": "paper", "warmup_rounds": "4"}
    assert (variant.evolve_mode, variant.warmup_rounds, variant.prefix) == (EvolveMode.PAPER, 4, "a.")
    assert variant_of(Settings(warmup_rounds=3), ["warmup_rounds=none"])[0].warmup_rounds is None


@pytest.mark.parametrize("name", ["privacy", "sensitive", "statinit", "prefix", "merge.characters"])
def test_an_unknown_name_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(InvalidVariant, match="evolve_mode, warmup_rounds"):
        variant_of(Settings(), [f"{name}=1"])
