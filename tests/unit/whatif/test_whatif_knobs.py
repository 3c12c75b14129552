"""What may be changed, and what is said of the rest."""

from dataclasses import fields

import pytest
from pydantic import ValidationError

from operators.evolve import RulesReasoner
from operators.merge import MergeLimits
from operators.options import EvolveMode
from streams.settings import Settings
from streams.whatif.arms import NAMES, BadKnob, knobs_of, parsed


def test_settings_limits_and_rules_are_changed_by_name() -> None:
    given = {"evolve_mode": "replace", "warmup_rounds": "4", "merge.weaken_window": "2", "rules.common_share": "0.25"}
    knobs = knobs_of(Settings(prefix="a."), given)

    assert (knobs.settings.evolve_mode, knobs.settings.warmup_rounds) == (EvolveMode.REPLACE, 4)
    assert knobs.settings.prefix == "a."
    assert (knobs.limits.weaken_window, knobs.rules.common_share) == (2, 0.25)
    assert knobs_of(Settings(warmup_rounds=3), {"warmup_rounds": "none"}).settings.warmup_rounds is None


def test_every_limit_and_number_of_the_rules_is_a_knob_but_the_seeds_and_the_sessions() -> None:
    known = {f"merge.{each.name}" for each in fields(MergeLimits)} | {
        f"rules.{each.name}" for each in fields(RulesReasoner)
    }

    assert known - set(NAMES) == {"merge.seed_characters", "merge.session", "rules.name"}


@pytest.mark.parametrize("name", ["privacy", "sensitive", "statinit", "prefix", "weaken_window", "merge.nothing"])
def test_what_is_no_knob_is_refused_with_all_that_are(name: str) -> None:
    with pytest.raises(BadKnob, match=r"merge\.weaken_window"):
        knobs_of(Settings(), {name: "1"})


@pytest.mark.parametrize(
    ("name", "value"),
    [("merge.attributes", "65"), ("merge.discoveries", "few"), ("rules.near_misses", "0"), ("merge.pinned", True)],
)
def test_a_number_out_of_bounds_is_refused(name: str, value: object) -> None:
    with pytest.raises(BadKnob, match=f"{name} must be"):
        knobs_of(Settings(), {name: value})


def test_a_setting_is_checked_as_ever() -> None:
    with pytest.raises(ValidationError):
        knobs_of(Settings(), {"slim_tokens": "1000"})


def test_words_of_a_command_line() -> None:
    assert parsed(["a=1", "b=x=y", "a=2"]) == {"a": "2", "b": "x=y"}
    with pytest.raises(BadKnob, match="NAME=VALUE"):
        parsed(["reasoner"])
