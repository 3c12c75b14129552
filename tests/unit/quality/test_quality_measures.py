"""Measures and their intervals against numbers worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation import measures
from evaluation.measures import averages, hit_at, interval, minus, ndcg_at, summary


@pytest.fixture(autouse=True)
def fewer_resamples(monkeypatch):
    monkeypatch.setattr(measures, "RESAMPLES_OF_USERS", 1_000)


def places(of_users):
    """Each choice after the last."""
    return {f"u{number}": dict(enumerate(of_user)) for number, of_user in enumerate(of_users)}


def test_measures_of_places_by_hand():
    assert list(hit_at(3, [1, 3, 4])) == [1, 1, 0]
    assert list(ndcg_at(5, [1, 3, 6])) == [1, 0.5, 0]  # log2(2) = 1, log2(4) = 2
    expected = {"hit_at_1": 0.25, "hit_at_3": 0.5, "hit_at_5": 0.75}
    expected |= {"ndcg_at_3": (1 + 0.630930) / 4, "ndcg_at_5": (1 + 0.630930 + 0.430677) / 4}
    assert averages([1, 2, 4, 10]) == pytest.approx(expected, abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.booleans(), min_size=2, max_size=60), st.integers(0, 5))
def test_an_interval_contains_the_mean_and_a_seed_repeats_it(hits, seed):
    low, high = interval(hits, seed)

    assert low <= np.mean(hits) <= high
    assert interval(hits, seed) == (low, high)


def test_figures_by_hand():
    found = summary(places([[1, 2, 10], [1]]))

    assert (found.users, found.choices, found.hit_at_1) == (2, 4, 0.5)
    assert found.mrr == pytest.approx((1 + 0.5 + 0.1 + 1) / 4)
    assert found.ndcg_at_5 == pytest.approx((1 + 0.63093 + 0 + 1) / 4, abs=1e-5)
    assert (found.by_seen, found.choices_by_seen) == ({"0": 1.0, "1": 0.0, "2": 0.0}, {"0": 2, "1": 1, "2": 1})
    halves = summary(places([[1, 2], [1, 4], [1, 1]]))
    assert (halves.early, halves.late) == (1.0, pytest.approx(1 / 3))


def test_a_difference_counts_choices_alike_and_its_interval_resamples_users():
    found = minus(places([[1] * 8, [2, 2]]), places([[2] * 8, [1, 2]]))

    assert found.value == pytest.approx((8 - 1) / 10)
    # Two users: the same one twice in half of the resamples.
    assert found.ci95 == pytest.approx((-0.5, 1.0))
