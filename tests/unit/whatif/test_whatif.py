"""A replay with the same settings is the fold of the log; with others, what they would have taught."""

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from operators.evolve import Proposal, ReasonerUnavailable, RulesReasoner
from operators.merge import MergeLimits, OutOfOrder, start
from operators.options import EvolveMode
from operators.whatif import Moment, Series, Step, differences, place, series, sign_test
from schemas import Action, Contrast, PolicySkill, Tier, encode
from streams.settings import Settings
from streams.whatif.mirror import in_share
from streams.whatif.replay import Report
from streams.whatif.variant import NAMES, BadVariant, side_of, variant_of
from streams.worker.reasoning import llm
from tests.builders import DOMAIN, USER, a_command, a_contrast, an_attribute, id_of
from tests.openai_server import Act, Do, OpenAiServer, threaded
from tests.unit.whatif.whatif_builders import GENRES, SEED, LiveSide, a_choice, an_arm, replayed

COMMANDS = (Action.FREEZE, Action.UNFREEZE, Action.PIN, Action.REMOVE, Action.ADD, Action.SET_TIER, Action.REWORD)
events = st.lists(
    st.one_of(st.sampled_from(GENRES), st.sampled_from(GENRES), st.sampled_from(COMMANDS)), min_size=1, max_size=25
)
places = st.integers(1, 20)


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


def test_other_limits_lead_to_another_skill_and_leave_the_live_one_alone() -> None:
    live = played(["farce"] * 8)

    last = replayed(live.series(), an_arm(MergeLimits(attributes=2)))[-1]

    assert last.live == live.folded()
    assert len(last.other.attributes) == 2 < len(last.live.attributes)


def test_a_choice_helps_at_the_next_one_only() -> None:
    moments = replayed(played(["farce"] * 8).series(), an_arm(rounds=0))

    assert moments[0].places[0] == moments[0].places[1], "both rank with the seed"
    assert moments[-1].places[0] < moments[-1].places[1]


def test_a_command_applies_to_both_sides() -> None:
    live = played(["farce", "farce", Action.FREEZE, "farce", "epic"])

    moments = replayed(live.series(), an_arm(MergeLimits(discoveries=1)))

    assert [moment.contrast is None for moment in moments] == [False, False, True]
    assert moments[-1].other.frozen


def test_statements_apply_to_both_sides() -> None:
    live = played(["farce", "farce"])
    live.hear("farce")
    live.choose(a_choice(7, "epic"))

    told = live.series()
    moments = replayed(told, an_arm(MergeLimits(discoveries=1)))

    assert (told.missing, len(moments)) == (0, 2 + 3 + 1)
    assert [each.statement_id for each in moments[-1].other.stated] == [f"avoids:{id_of('genre: farce')}"]
    assert moments[-1].other.shifted == moments[-1].live.shifted == 4


def test_both_sides_share_the_choices_before_the_available_ones() -> None:
    told = played(["farce"] * 6).series(forgotten=4)

    assert (told.start.version, told.choices) == (4, 2)


def test_the_other_side_goes_on_without_a_lost_choice() -> None:
    live = played(["farce"] * 4)
    names = list(live.held)
    told = series(live.diffs, {name: live.held[name] for name in names if name != names[1]}, {})
    last = replayed(told)[-1]

    assert told.missing == 1
    assert (last.live.version, last.other.version) == (4, 3)


def test_a_gap_in_the_log_is_an_error() -> None:
    live = played(["farce"] * 3)

    with pytest.raises(OutOfOrder):
        series([live.diffs[0], live.diffs[2]], live.held, {})


def test_without_an_answer_the_other_side_learns_nothing_and_goes_on() -> None:
    async def away(contrast: Contrast, skill: PolicySkill) -> Proposal:
        raise ReasonerUnavailable("timeout", "no answer")

    moments = replayed(played(["farce"] * 2).series(), an_arm(reason=away))

    assert [moment.unavailable for moment in moments] == ["timeout", "timeout"]
    assert moments[-1].other == moments[0].other


def test_neither_side_learns_personal_data() -> None:
    """Older workers have left it on the topic."""
    contrast = a_contrast(["genre: farce", "author: ann@example.org"], [["genre: saga"]])
    [diff] = played(["farce"]).diffs
    [moment] = replayed(Series(start(USER, DOMAIN, SEED, contrast), (Step(diff, encode(contrast)),)))

    learned = {line.attribute_id for line in moment.other.attributes} - {line.attribute_id for line in SEED}
    assert learned == {id_of("genre: farce")}


@given(st.lists(st.tuples(st.sampled_from("abc"), places, places), min_size=1, max_size=30))
def test_swapping_the_sides_swaps_the_difference(choices: list[tuple[str, int, int]]) -> None:
    here, there = differences(choices), differences([(user, two, one) for user, one, two in choices])

    for name, found in here.items():
        other = there[name]
        assert found.delta == pytest.approx(-other.delta)
        assert found.margin == (None if other.margin is None else pytest.approx(other.margin))
        assert (found.better, found.worse) == (other.worse, other.better)


def test_the_interval_counts_users_and_not_choices() -> None:
    few = differences([("ann", 1, 3), ("bob", 3, 1)] * 50)["hit_at_1"]
    many = differences([(f"{name}-{n}", *both) for n in range(50) for name, both in (("a", (1, 3)), ("b", (3, 1)))])
    narrow = many["hit_at_1"]

    assert narrow.delta == few.delta == 0
    assert narrow.margin is not None
    assert few.margin is not None
    assert narrow.margin < 0.3 < few.margin
    assert differences([("ann", 2, 1)])["hit_at_1"].margin is None


def test_both_ways_of_the_sign_test_agree() -> None:
    assert sign_test(530, 470) == pytest.approx(sign_test(531, 470), rel=0.1)
    assert sign_test(100, 20) < 1e-6


@pytest.mark.parametrize("genre", GENRES)
def test_a_high_line_puts_its_item_first_and_without_lines_chance_decides(genre: str) -> None:
    assert place(a_choice(1, genre), [an_attribute(f"genre: {genre}", Tier.HIGH)]) == 1
    by_chance = [place(a_choice(number, genre), ()) for number in range(200)]
    assert 2.6 < sum(by_chance) / 200 < 3.4


def test_a_share_of_users_has_its_size_and_is_within_a_larger_one() -> None:
    drawn = {share: {n for n in range(2_000) if in_share(f"user-{n}".encode(), share)} for share in (0.1, 0.2)}

    assert 340 < len(drawn[0.2]) < 460
    assert drawn[0.1] < drawn[0.2]


def test_settings_limits_and_rules_are_changed_by_name() -> None:
    given = [
        "evolve_mode=incremental",
        "warmup_rounds=3",
        "warmup_rounds=4",
        "merge.weaken_window=2",
        "rules.common_share=0.25",
    ]
    variant = variant_of(Settings(prefix="a."), given)

    assert (variant.settings.evolve_mode, variant.settings.warmup_rounds) == (EvolveMode.INCREMENTAL, 4)
    assert variant.settings.prefix == "a."
    assert (variant.limits.weaken_window, variant.rules.common_share) == (2, 0.25)
    assert variant_of(Settings(warmup_rounds=3), ["warmup_rounds=none"]).settings.warmup_rounds is None


def test_every_limit_and_number_of_the_rules_can_be_changed_but_those_of_seeds_and_sessions() -> None:
    known = {f"merge.{each.name}" for each in fields(MergeLimits)} | {
        f"rules.{each.name}" for each in fields(RulesReasoner)
    }

    assert known - set(NAMES) == {"merge.seed_characters", "merge.session", "rules.name"}


@pytest.mark.parametrize("name", ["privacy", "sensitive", "statinit", "prefix", "weaken_window", "merge.nothing"])
def test_an_unknown_name_is_refused_with_all_that_are_known(name: str) -> None:
    with pytest.raises(BadVariant, match=r"merge\.weaken_window"):
        variant_of(Settings(), [f"{name}=1"])


@pytest.mark.parametrize("change", ["merge.attributes=65", "merge.pinned=few", "merge.characters=-1"])
def test_a_number_out_of_bounds_is_refused(change: str) -> None:
    with pytest.raises(BadVariant, match="must be"):
        variant_of(Settings(), [change])


def test_a_setting_is_validated() -> None:
    with pytest.raises(ValidationError):
        variant_of(Settings(), ["slim_tokens=1000"])


def reported(server: OpenAiServer) -> Report:
    live = played(["farce", "epic", "farce"])
    own = Settings(llm_base_url=server.base_url, llm_model="m", llm_attempts=1, llm_retry_seconds=0)
    made = Report()
    moments: list[Moment] = replayed(live.series(), side_of(variant_of(own, ["reasoner=llm", "gate=false"]), {}))
    for moment in moments:
        made.note(moment)
    return made


def test_calls_and_tokens_are_counted_for_each_side() -> None:
    with threaded(OpenAiServer()) as server:
        report = reported(server)

    assert (report.live.llm_calls, report.other.llm_calls, report.other.learned) == (0, 3, 3)
    assert report.other.prompt_tokens > 0
    assert len(server.bodies) == 3


def test_choices_without_an_answer_are_counted() -> None:
    with threaded(OpenAiServer(always=Act(Do.FAIL))) as server:
        report = reported(server)

    assert (report.other.learned, report.unavailable) == (0, 3)


def test_the_other_side_has_its_own_client() -> None:
    """Its failures must not open the circuit of the live path."""
    own: Any = Settings(llm_base_url="http://127.0.0.1:9/v1", reasoner="llm")
    shared = llm.shared_client(own)
    reasoner = llm.arm_reasoner(own, "replay")

    assert getattr(reasoner, "inner", reasoner)._client is not shared
