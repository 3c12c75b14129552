"""What other harnesses leak of the answers, and this one must not."""

import pytest

from evaluation.dataset import works
from evaluation.exceptions import QualityError
from evaluation.split import read
from schemas import Candidate
from tests.unit.quality.quality_builders import candidates, data_set, films, tastes

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


@pytest.mark.parametrize("kind", KINDS)
def test_cases_do_not_depend_on_the_order_of_users_and_items(tmp_path, kind):
    turned = data_set(tmp_path / "turned", dict(reversed(tastes().items())), films()[::-1])

    split, _ = read(data_set(tmp_path / "straight"), kind)
    other, _ = read(turned, kind)

    assert by_user(split) == by_user(other)


def test_a_sample_changes_neither_training_nor_the_cases_that_are_left(tmp_path):
    folder = data_set(tmp_path)
    whole, _ = read(folder)
    some, answers = read(folder, users=10)
    fewer, _ = read(folder, users=4)

    assert len(some.cases) == len(answers) == 10
    assert some.training == whole.training
    assert by_user(some).items() <= by_user(whole).items()
    assert by_user(fewer).items() <= by_user(some).items()
    assert some.fingerprint == whole.fingerprint


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


def test_one_work_under_two_ids_is_neither_in_training_nor_a_negative(tmp_path):
    """Emma is in MovieLens twice; whoever saw the one must not be asked for the other."""
    twin = {**films()[47], "item_id": "twin", "title": "FILM 47 - (2017)"}
    others = {f"u{n}": [f"f{n:02}", "f11", "f12", "f13", "f14", "f15", "f47"] for n in range(8)}
    histories = {**others, "ann": ["f00", "twin", "f01", "f02", "f03", "f04", "f47"]}

    split, answers = read(data_set(tmp_path, histories, [*films(12), *films()[12:16], *films()[40:], twin]))

    assert [visit.item_id for visit in split.training["ann"]] == ["f00", "f01", "f02", "f03", "f04"]
    assert sum(answers.notes.values()) == 1
    assert not any("twin" in case.candidates for case in split.cases)


def test_a_given_negative_that_is_the_answer_under_another_id_is_replaced(tmp_path):
    twin = {**films()[47], "item_id": "twin"}
    folder = data_set(tmp_path, {"ann": ["f00", "f01", "f47"], "bob": ["f02", "f03", "f04"]}, [*films(), twin])
    rest = [f"f{n}" for n in range(10, 18)]
    candidates(folder, [("ann", "f47", ["twin", "f47", *rest]), ("bob", "f04", ["f04", "f20", *rest])])

    split, answers = read(folder)

    [ann, bob] = split.cases
    assert len(set(ann.candidates)) == 10
    assert "twin" not in ann.candidates
    assert set(bob.candidates) == {"f04", "f20", *rest}
    assert list(answers.notes.values()) == [1]


def work(**items):
    return works({name: Candidate(item_id=name, **item) for name, item in items.items()})


def test_a_chains_places_are_different_and_one_place_is_not():
    found = work(
        a={"title": "Noodle Bar", "metadata": {"address": "1 Main St"}},
        b={"title": "Noodle Bar", "metadata": {"address": "2 Main St"}},
        c={"title": "NOODLE BAR!", "metadata": {"address": "1 Main St."}},
        d={"title": "Noodle Bar"},
        e={"title": "Noodle Bar"},
    )

    assert found == {"a": "a", "b": "b", "c": "a", "d": "d", "e": "e"}


def test_remakes_are_different_and_editions_are_not():
    assert set(work(a=film("King", 1933), b=film("King", 2005)).values()) == {"a", "b"}
    assert set(work(a=book("Dune", "F. Herbert", 1965), b=book("Dune", "F. Herbert, A Reader", 1990)).values()) == {"a"}
    assert set(work(a=book("Storm", "A", 1990), b=book("Storm", "B", 1990)).values()) == {"a", "b"}
    assert set(work(a={"title": "Gone"}, b={"title": "Gone"}).values()) == {"a"}, "titles are all that is known"
    assert set(work(a={"title": ""}, b={"title": ""}).values()) == {"a", "b"}


def film(title, year):
    return {"title": title, "metadata": {"directors": "D", "year": year}}


def book(title, authors, year):
    return {"title": title, "metadata": {"authors": authors, "year": year}}


def test_given_candidates_say_who_is_tested_and_against_what(tmp_path):
    folder = data_set(tmp_path, {user: ["f00", f"f0{number}"] for number, user in enumerate(("ann", "bob", "cleo"), 1)})
    rest = [f"f{n}" for n in range(10, 19)]
    candidates(folder, [("ann", "f01", ["f01", *rest]), ("bob", "f02", [*rest, "f02"])], "popular")

    split, answers = read(folder, "popular")

    assert answers == {"ann": "f01", "bob": "f02"}
    assert [set(case.candidates) for case in split.cases] == [{"f01", *rest}, {"f02", *rest}]
    assert len(split.training["cleo"]) == 2


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
