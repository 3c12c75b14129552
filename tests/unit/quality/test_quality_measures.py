"""Measures against numbers worked out by hand, and what is said of their certainty."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation import confidence
from evaluation.confidence import compare, interval
from evaluation.measures import averages, hit_at, ndcg_at


@pytest.fixture(autouse=True)
def fewer_resamples(monkeypatch):
    monkeypatch.setattr(confidence, "RESAMPLES", 1_000)


def test_measures_of_places_by_hand():
    assert list(hit_at(3, [1, 3, 4])) == [1, 1, 0]
    assert list(ndcg_at(5, [1, 3, 6])) == [1, 0.5, 0]  # log2(2) = 1, log2(4) = 2
    assert averages([1, 2, 4, 10]) == pytest.approx(
        {
            "hit_at_1": 0.25,
            "hit_at_3": 0.5,
            "hit_at_5": 0.75,
            "ndcg_at_3": (1 + 0.630930) / 4,
            "ndcg_at_5": (1 + 0.630930 + 0.430677) / 4,
        },
        abs=1e-6,
    )


@settings(max_examples=20, deadline=None)
@given(st.lists(st.booleans(), min_size=2, max_size=60), st.integers(0, 5))
def test_interval_contains_the_mean_and_a_seed_repeats_it(hits, seed):
    low, high = interval(hits, seed)

    assert low <= np.mean(hits) <= high
    assert interval(hits, seed) == (low, high)


def test_interval_of_a_share_is_as_wide_as_theory_says():
    low, high = interval([1] * 100 + [0] * 300)

    assert (low, high) == pytest.approx((0.25 - 1.96 * 0.0217, 0.25 + 1.96 * 0.0217), abs=0.01)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=60))
def test_comparison_is_the_same_either_way_round(pairs):
    one, other = zip(*pairs, strict=True)

    there, back = compare(one, other), compare(other, one)

    assert there.difference == -back.difference
    assert (there.p, there.p_mcnemar) == (back.p, back.p_mcnemar)


def test_comparison_by_hand():
    """Of 10 users that differ 9 are better off: McNemar's exact p is 2 * (1 + 10) / 2 ** 10; flips are as many."""
    one = [1] * 9 + [0] + [1] * 30
    other = [0] * 9 + [1] + [1] * 30

    found = compare(one, other)

    assert found.difference == pytest.approx(8 / 40)
    assert found.p_mcnemar == pytest.approx(22 / 1024)
    assert found.p == pytest.approx(22 / 1024, abs=0.012)
    assert 0 < found.ci95[0] < found.difference < found.ci95[1]


def test_equal_arms_do_not_differ():
    found = compare([1, 0, 1], [1, 0, 1])

    assert (found.difference, found.p, found.p_mcnemar) == (0, 1, 1)


def test_a_measure_that_is_no_yes_or_no_has_no_mcnemar():
    assert compare([0.5, 1, 0], [0, 0, 0]).p_mcnemar is None


def test_unpaired_values_are_refused():
    with pytest.raises(ValueError, match="as many"):
        compare([1, 0], [1])
