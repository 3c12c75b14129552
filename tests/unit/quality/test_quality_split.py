"""What other harnesses leak of the answers, and this one must not."""

import pytest

from evaluation.exceptions import QualityError
from evaluation.split import read
from tests.unit.quality.quality_builders import candidates, data_set, tastes

KINDS = ("uniform", "popular")


def by_user(split):
    return {case.user_id: case for case in split.cases}


@pytest.mark.parametrize("kind", KINDS)
def test_every_case_has_the_answer_among_ten_that_the_user_never_met(tmp_path, kind):
    histories = tastes()

    split, answers = read(data_set(tmp_path, histories), kind)

    assert set(by_user(split)) == set(answers) == set(histories)
    for case in split.cases:
        assert answers[case.user_id] == histories[case.user_id][-1]
        assert len(set(case.candidates)) == 10
        assert set(case.candidates) & set(histories[case.user_id]) == {answers[case.user_id]}


def test_no_test_users_answer_is_in_training_whoever_is_sampled(tmp_path):
    histories = tastes()

    split, _ = read(data_set(tmp_path, histories), users=2)

    for user, visits in histories.items():
        assert [visit.item_id for visit in split.training[user]] == visits[:-1]


@pytest.mark.parametrize("kind", KINDS)
def test_one_users_answer_touches_nobody_elses_training_or_case(tmp_path, kind):
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
def test_candidates_that_do_not_fit_are_an_error_that_says_so(tmp_path, row, told):
    folder = data_set(tmp_path, {"ann": ["f00", "f01"]})
    candidates(folder, [row])

    with pytest.raises(QualityError, match=told):
        read(folder)
