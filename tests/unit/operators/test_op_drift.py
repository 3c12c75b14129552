"""The test of change: it stays quiet while a taste holds, and tells when it is over."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.drift import drifted, has_shifted
from schemas import ONE, Source, Tier
from tests.builders import an_attribute

SURE = an_attribute(tier=Tier.HIGH, taken=9 * ONE, expected=ONE, source=Source.DISCOVERED)


def offers_until_told(chance: float, share: float, seed: int, most: int) -> int:
    """How many lists that offer a sure line's thing pass until a change is told, where it is taken so often."""
    draw, drift = random.Random(seed), 0
    for number in range(1, most + 1):
        drift = drifted(SURE.model_copy(update={"drift": drift}), int(share * ONE), draw.random() < chance)
        if has_shifted(SURE, drift):
            return number
    return most


@pytest.mark.parametrize("share", [0.1, 0.33, 0.5])
def test_a_taste_that_holds_is_seldom_thought_over_and_one_that_is_over_soon(share: float) -> None:
    odds = 6.0
    holding = share * odds / (1 + share * (odds - 1))
    kept = sorted(offers_until_told(holding, share, seed, 2_000) for seed in range(99))[49]
    lost = sorted(offers_until_told(share / 3, share, seed, 2_000) for seed in range(99))[49]

    assert kept > 120
    assert lost < 12
    assert kept > 5 * lost


def test_a_line_from_the_history_must_be_taken_more_often_before_it_is_tested() -> None:
    learned = an_attribute(tier=Tier.HIGH, taken=7 * ONE, expected=ONE, source=Source.DISCOVERED)
    prior = learned.model_copy(update={"source": Source.PRIOR})

    assert drifted(learned, 300, taken=False) > 0
    assert drifted(prior, 300, taken=False) == 0
    assert drifted(prior.model_copy(update={"taken": 10 * ONE}), 300, taken=False) > 0


@given(st.integers(0, 64 * ONE), st.integers(1, ONE - 1), st.booleans())
def test_the_sum_is_never_below_nought_nor_beyond_its_bound(drift: int, share: int, taken: bool) -> None:
    assert 0 <= drifted(SURE.model_copy(update={"drift": drift}), share, taken) <= 64 * ONE
