"""Measures and their intervals against numbers worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation import measures
from evaluation.exceptions import QualityError
from evaluation.hosts import HOSTS, DynamicProfileHost, profile_of
from evaluation.measures import averages, hit_at, interval, minus, ndcg_at, summary
from evaluation.split import read
from tests.builders import id_of, item_facts
from tests.unit.quality.quality_builders import candidates, data_set, tastes


@pytest.fixture(autouse=True)
def fewer_resamples(monkeypatch):
    monkeypatch.setattr(measures, "RESAMPLES_OF_USERS", 1_000)


def places(of_users):
    return {f"u{number}": dict(enumerate(of_user)) for number, of_user in enumerate(of_users)}


def test_rank_measures_equal_hand_computed_values():
    assert list(hit_at(3, [1, 3, 4])) == [1, 1, 0]
    assert list(ndcg_at(5, [1, 3, 6])) == [1, 0.5, 0]  # log2(2) = 1, log2(4) = 2
    expected = {"hit_at_1": 0.25, "hit_at_3": 0.5, "hit_at_5": 0.75}
    expected |= {"ndcg_at_3": (1 + 0.630930) / 4, "ndcg_at_5": (1 + 0.630930 + 0.430677) / 4}
    assert averages([1, 2, 4, 10]) == pytest.approx(expected, abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.booleans(), min_size=2, max_size=60), st.integers(0, 5))
def test_an_interval_contains_the_mean_and_is_reproducible(hits, seed):
    low, high = interval(hits, seed)

    assert low <= np.mean(hits) <= high
    assert interval(hits, seed) == (low, high)


def test_summary_figures_equal_hand_computed_values():
    found = summary(places([[1, 2, 10], [1]]))

    assert (found.users, found.choices, found.hit_at_1) == (2, 4, 0.5)
    assert found.mrr == pytest.approx((1 + 0.5 + 0.1 + 1) / 4)
    assert found.ndcg_at_5 == pytest.approx((1 + 0.63093 + 0 + 1) / 4, abs=1e-5)
    assert (found.by_seen, found.choices_by_seen) == ({"0": 1.0, "1": 0.0, "2": 0.0}, {"0": 2, "1": 1, "2": 1})
    halves = summary(places([[1, 2], [1, 4], [1, 1]]))
    assert (halves.early, halves.late) == (1.0, pytest.approx(1 / 3))


def test_a_difference_weighs_choices_and_resamples_users():
    found = minus(places([[1] * 8, [2, 2]]), places([[2] * 8, [1, 2]]))

    assert found.value == pytest.approx((8 - 1) / 10)
    # Two users: the same one twice in half of the resamples.
    assert found.ci95 == pytest.approx((-0.5, 1.0))


NOIR = item_facts("noir", "genre: noir", "mood: dark reads", title="The Long Alley")
SAGA = item_facts("saga", "genre: saga", "mood: warm reads", title="Four Daughters")
SPACE = item_facts("space", "genre: science fiction", "era: 1990s", title="Low Orbit")
FARCE = item_facts("farce", "genre: farce", "era: 1960s", title="Two Umbrellas")
ITEMS = (NOIR, SAGA, SPACE, FARCE)
GENRE_NOIR, GENRE_SAGA = id_of("genre: noir"), id_of("genre: saga")
every_host = pytest.mark.parametrize("name", ["dynamic-profile", "static-profile", "vanilla"])


@every_host
def test_a_host_remembers_by_titles_or_by_a_profile(name: str) -> None:
    facets, titles = HOSTS[name]((SAGA, NOIR)).memory((SAGA, NOIR))

    assert list(titles) == (["The Long Alley", "Four Daughters"] if name == "vanilla" else [])
    assert {facet.attribute_id for facet in facets} >= (set() if name == "vanilla" else {GENRE_NOIR, GENRE_SAGA})


def test_a_dynamic_profile_follows_a_change_with_a_delay() -> None:
    host, static = DynamicProfileHost((SAGA, SAGA)), HOSTS["static-profile"]((SAGA, SAGA))
    assert host.profile == profile_of((SAGA, SAGA))

    weights = []
    for _ in range(6):
        for each in (host, static):
            each.observe(NOIR, [item for item in ITEMS if item is not NOIR])
        weights.append((host.profile[GENRE_NOIR].weight, host.profile[GENRE_SAGA].weight))

    assert weights[0][0] < weights[0][1]
    assert weights[-1][0] > weights[-1][1]
    assert static.memory(()) == HOSTS["static-profile"]((SAGA, SAGA)).memory(())


KINDS = ("uniform", "popular")


def by_user(split):
    return {case.user_id: case for case in split.cases}


@pytest.mark.parametrize("kind", KINDS)
def test_every_case_has_ten_unseen_candidates(tmp_path, kind):
    histories = tastes()

    split, answers = read(data_set(tmp_path, histories), kind)

    assert set(by_user(split)) == set(answers) == set(histories)
    for case in split.cases:
        assert answers[case.user_id] == histories[case.user_id][-1]
        assert len(set(case.candidates)) == 10
        assert set(case.candidates) & set(histories[case.user_id]) == {answers[case.user_id]}


def test_answers_are_never_in_training(tmp_path):
    histories = tastes()

    split, _ = read(data_set(tmp_path, histories), users=2)

    for user, visits in histories.items():
        assert [visit.item_id for visit in split.training[user]] == visits[:-1]


@pytest.mark.parametrize("kind", KINDS)
def test_one_users_answer_does_not_affect_other_users(tmp_path, kind):
    histories = tastes()
    changed = {
        **histories,
        "u00": [*histories["u00"][:-1], next(f"f{n:02}" for n in range(48) if f"f{n:02}" not in histories["u00"])],
    }

    split, _ = read(data_set(tmp_path / "a", histories), kind)
    other, _ = read(data_set(tmp_path / "b", changed), kind)

    assert split.training == other.training
    assert [case for case in split.cases if case.user_id != "u00"] == [c for c in other.cases if c.user_id != "u00"]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (("ann", "f00", ["f00", "f10"]), "met last, which is f01"),
        (("zoe", "f00", ["f00", "f10"]), "zoe has no visits"),
        (("ann", "f01", ["f10", "f11"]), "target f01 among them"),
        (("ann", "f01", ["f01", "f99"]), "f99 of ann is not in the catalogue"),
        (("ann", "f01", ["f01", "f00"]), "has met f00"),
    ],
)
def test_inconsistent_candidates_are_an_error(tmp_path, row, told):
    folder = data_set(tmp_path, {"ann": ["f00", "f01"]})
    candidates(folder, [row])

    with pytest.raises(QualityError, match=told):
        read(folder)
