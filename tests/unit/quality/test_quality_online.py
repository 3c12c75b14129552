"""Choices one after another: who is shown what, how a curve is counted, and what the command refuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from evaluation.exceptions import QualityError
from evaluation.online.curve import FROM, buckets, curve, less
from evaluation.online.plan import plan
from streams.cli import app
from tests.unit.quality.quality_builders import data_set, films, tastes

PLACES = st.dictionaries(st.sampled_from("abcde"), st.lists(st.integers(1, 10), max_size=25))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return data_set(tmp_path_factory.mktemp("films"))


def test_a_player_chooses_what_they_took_next_among_nine_that_they_never_meet(folder):
    made = plan(folder, 10, imported=3, most=2)

    assert len(made.choices) == 10
    for user_id, choices in made.choices.items():
        history = tastes()[user_id]
        assert [visit.item_id for visit in made.past[user_id]] == history[:3]
        assert [choice.taken.item_id for choice in choices] == history[3:5]
        for choice in choices:
            assert len(set(choice.candidates)) == 10
            assert set(choice.candidates) & set(history) == {choice.taken.item_id}


def test_what_a_player_is_shown_depends_on_no_other_player(folder):
    few, many, other = plan(folder, 5), plan(folder, 20), plan(folder, 20, seed=1)

    assert few.choices == {user_id: many.choices[user_id] for user_id in few.choices}
    shared = few.choices.keys() & other.choices.keys()
    assert all(few.choices[user_id] != other.choices[user_id] for user_id in shared)


def test_others_have_a_history_and_choose_nothing(folder):
    made = plan(folder, 5, imported=1, most=4, others=7)

    assert len(made.past) == 12
    assert [len(made.past[user_id]) for user_id in made.past.keys() - made.choices.keys()] == [5] * 7


def test_another_edition_of_what_was_met_is_neither_a_choice_nor_beside_one(tmp_path):
    items = [*films(20), {**films()[0], "item_id": "again"}]
    histories = {user: ["f00", "f01", "again", "f02"] for user in ("ann", "bob")}

    made = plan(data_set(tmp_path / "films", histories, items), 2, imported=1)

    for choices in made.choices.values():
        assert [choice.taken.item_id for choice in choices] == ["f01", "f02"]
        assert not {"again", "f00"} & {item for choice in choices for item in choice.candidates}


def test_too_few_players_are_told(folder):
    with pytest.raises(QualityError, match="gives 0 users"):
        plan(folder, 5, imported=7)


@given(PLACES)
def test_every_choice_is_in_the_bucket_of_what_was_seen_before_it(places):
    found = buckets(places)

    assert list(found) == sorted(found)
    assert set(found) <= set(FROM)
    for user_id, of_user in places.items():
        assert [place for users in found.values() for place in users.get(user_id, ())] == of_user


def test_a_curve_by_hand_counts_users_and_not_choices():
    keen = {"ann": [1, 2, 2, 1, 1, 9], "bob": [1, 1, 3, 2], "cy": [2]}

    points = {point.contrasts_seen: point for point in curve(keen)}

    assert [(p.users, p.choices) for p in points.values()] == [(3, 3), (2, 2), (2, 2), (2, 3)]
    assert [round(p.hit_at_1, 3) for p in points.values()] == [0.667, 0.5, 0.0, 0.5]
    assert 5 not in points, "one user alone has no interval"


def test_two_curves_are_compared_on_the_same_users():
    one, other = {"ann": [1, 1], "bob": [1, 2]}, {"ann": [2, 1], "bob": [3, 2]}

    assert {start: found.difference for start, found in less(one, other).items()} == {0: 1.0, 1: 0.0}
    with pytest.raises(ValueError, match="curves of different users"):
        less(one, {"ann": [1, 1]})


def test_an_arm_that_is_none_is_told():
    done = CliRunner().invoke(app, ["eval", "online", "--data", "x", "--arm", "popularity"], env={"COLUMNS": "200"})

    assert done.exit_code == 2
    assert "sager, sager-rules, no-skill" in done.stderr
