"""What is compared, and how sure the difference is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.whatif import Tally, fingerprint, in_share, is_behind, place, sign_test
from schemas import Position, ShadowSkill, Tier
from tests.builders import DOMAIN, USER, a_position, a_skill, an_attribute
from tests.unit.whatif.whatif_builders import GENRES, a_choice

places = st.integers(1, 20)


@given(st.lists(st.tuples(st.sampled_from("abc"), places, places), min_size=1, max_size=30))
def test_swapping_the_sides_swaps_the_difference(choices: list[tuple[str, int, int]]) -> None:
    here, there = Tally(), Tally()
    for user, one, two in choices:
        here.add(user, one, two)
        there.add(user, two, one)

    for name, found in here.differences().items():
        other = there.differences()[name]
        assert (found.live, found.delta) == (other.other, pytest.approx(-other.delta))
        assert found.error == pytest.approx(other.error)
    assert here.signs()[:2] == there.signs()[1::-1]


def test_the_error_counts_users_and_not_choices() -> None:
    few, many = Tally(), Tally()
    for _ in range(50):
        few.add("ann", 1, 3)
        few.add("bob", 3, 1)
    for number in range(50):
        many.add(f"ann-{number}", 1, 3)
        many.add(f"bob-{number}", 3, 1)

    narrow, wide = many.differences()["hit_at_1"], few.differences()["hit_at_1"]
    assert narrow.delta == wide.delta == 0
    assert narrow.margin is not None
    assert wide.margin is not None
    assert narrow.margin < 0.3 < wide.margin


def test_one_user_is_no_sample() -> None:
    tally = Tally()
    tally.add("ann", 2, 1)

    assert tally.differences()["hit_at_1"].error is None


def test_both_ways_of_the_sign_test_agree() -> None:
    assert sign_test(530, 470) == pytest.approx(sign_test(531, 470), rel=0.1)
    assert sign_test(100, 20) < 1e-6


@pytest.mark.parametrize("genre", GENRES)
def test_a_high_line_puts_its_item_first_and_no_line_favours_the_chosen_one(genre: str) -> None:
    assert place(a_choice(1, genre), [an_attribute(f"genre: {genre}", Tier.HIGH)]) == 1
    by_chance = [place(a_choice(number, genre), ()) for number in range(200)]
    assert 2.6 < sum(by_chance) / 200 < 3.4


@given(st.integers(), st.floats(0, 1), st.floats(0, 1))
def test_who_is_in_a_share_is_in_a_larger_one(number: int, one: float, two: float) -> None:
    small, large = sorted((one, two))

    assert in_share(f"user-{number}", "arm", large) >= in_share(f"user-{number}", "arm", small)


def test_a_share_is_of_that_size_and_other_arms_draw_others() -> None:
    users = [f"user-{number}" for number in range(2_000)]
    drawn = {arm: {user for user in users if in_share(user, arm, 0.2)} for arm in "ab"}

    assert all(340 < len(each) < 460 for each in drawn.values())
    assert len(drawn["a"] & drawn["b"]) < 140


def test_another_value_is_another_fingerprint() -> None:
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})


COMMANDS = "sager.skill-commands"


def followed(*applied: Position, live_version: int = 3) -> ShadowSkill:
    skill = a_skill(version=3, applied=applied)
    return ShadowSkill(user_id=USER, domain=DOMAIN, arm="a", knobs="k", live_version=live_version, skill=skill)


def test_a_shadow_that_missed_a_command_or_outlived_its_skill_starts_again() -> None:
    choice, first, second = a_position(9), a_position(4, COMMANDS), a_position(5, COMMANDS)

    assert not is_behind(followed(choice), a_skill(version=4, applied=(a_position(10),)), COMMANDS)
    assert not is_behind(followed(first), a_skill(version=4, applied=(choice, first)), COMMANDS)
    assert is_behind(followed(choice), a_skill(version=4, applied=(choice, first)), COMMANDS)
    assert is_behind(followed(first), a_skill(version=4, applied=(second,)), COMMANDS)
    assert is_behind(followed(first), a_skill(version=0), COMMANDS), "forgotten, and begun anew"
