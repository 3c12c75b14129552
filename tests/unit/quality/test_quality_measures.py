"""Measures and their intervals against numbers worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation import measures
from evaluation.measures import (
    BUCKETS,
    averages,
    growth,
    hit_at,
    interval,
    minus,
    ndcg_at,
    paired,
    summary,
)

PLACES = st.lists(st.lists(st.integers(1, 10), max_size=30), min_size=1, max_size=6)


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


def test_arms_are_paired_by_their_common_users():
    one, other = {"ann": 1.0, "bob": 1.0, "cy": 0.0}, {"bob": 0.0, "cy": 0.0, "dan": 1.0}

    found = paired(one, other)

    assert (found.users, found.value) == (2, 0.5)
    assert found.ci95 == (0.0, 1.0)
    assert paired(one, {"dan": 1.0}) is None


@given(PLACES)
def test_every_choice_is_in_one_bucket(of_users):
    if not any(of_users):
        with pytest.raises(ValueError, match="no choice was measured"):
            summary(places(of_users))
        return

    found = summary(places(of_users))

    assert list(found.by_seen) == [name for name in BUCKETS if name in found.by_seen]
    assert sum(found.choices_by_seen.values()) == found.choices == sum(map(len, of_users))
    hits = sum(found.choices_by_seen[name] * share for name, share in found.by_seen.items())
    assert hits == pytest.approx(found.hit_at_1 * found.choices) == pytest.approx(sum(of.count(1) for of in of_users))


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


def test_a_difference_is_of_the_choices_that_both_arms_were_measured_on():
    assert minus(places([[1, 1]]), places([[1]])).value == 0.0
    assert minus(places([[1, 2], [1]]), places([[2, 2], [3]])).value == pytest.approx(2 / 3)


def test_growth_is_the_late_lead_minus_the_early_one():
    never, early_miss = [2] * 22, [2, 2, *[2] * 15, *[1] * 5]
    always = [2, 1, *[2] * 15, *[1] * 5]

    grown = growth(places([early_miss] * 3), places([never] * 3))
    level = growth(places([always] * 3), places([never] * 3))

    assert (grown.value, grown.ci95) == (1.0, (1.0, 1.0))
    assert (level.value, level.ci95) == (0.0, (0.0, 0.0))
    assert growth(places([[1, 1]]), places([[1, 2]])) is None
