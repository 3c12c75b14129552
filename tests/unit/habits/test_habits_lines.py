"""Counts, what they prove, and how lines come and go with them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from operators.habits import POLES, fold, lines_of, nats, seen_from
from operators.habits.lines import proves_less
from schemas import ONE, HabitCounts, Tier

CHEAPER = next(pole for pole in POLES if pole.value == "picks cheaper than average")
ADDED = st.tuples(st.sampled_from([0, ONE]), st.integers(1, ONE - 1))
COUNTS = st.tuples(st.integers(0, 64 * ONE), st.integers(0, 64 * ONE), st.integers(0, 64 * ONE)).map(
    lambda parts: HabitCounts(min(parts[0], parts[2]), min(parts[1], parts[2]), parts[2])
)


def after(*choices: tuple[int, int]) -> HabitCounts:
    habits: dict[str, HabitCounts] = {}
    for choice in choices:
        habits = fold(habits, {"price": choice})
    return habits["price"]


@settings(max_examples=100, deadline=None)
@given(st.lists(ADDED, min_size=1, max_size=300))
def test_counts_stay_bounded_and_in_their_order(choices: list[tuple[int, int]]) -> None:
    taken, expected, asked = after(*choices)

    assert 0 <= taken <= asked <= 65 * ONE
    assert 0 < expected < asked


@settings(max_examples=300, deadline=None)
@given(COUNTS, st.floats(0.1, 20))
def test_the_cheap_bound_never_hides_a_proof(counts: HabitCounts, least: float) -> None:
    for up in (True, False):
        proof = nats(seen_from(counts, up))
        assert 0 <= proof <= 700
        if proves_less(counts, least):
            assert proof <= least


def test_a_habit_is_a_line_when_it_is_sure_and_stays_one_until_it_is_not() -> None:
    held: dict[str, Tier] = {}
    habits: dict[str, HabitCounts] = {}
    told = []
    for taken in [0] * 30 + [ONE] * 40:
        habits = fold(habits, {"price": (taken, 512)})
        found = lines_of(habits, held)
        held = {name: sure.tier for name, sure in found.items()}
        told.append(held.get(CHEAPER.attribute_id))

    came, rose = told.index(Tier.MEDIUM), told.index(Tier.HIGH)
    assert (came, rose) == (10, 26)
    assert set(told[came:30]) == {Tier.MEDIUM, Tier.HIGH}
    fell = told.index(Tier.MEDIUM, rose)
    gone = told.index(None, fell)
    assert rose < fell < gone
    # No coming and going on the way: each step once.
    assert told == [None] * came + [Tier.MEDIUM] * (rose - came) + [Tier.HIGH] * (fell - rose) + [Tier.MEDIUM] * (
        gone - fell
    ) + [None] * (len(told) - gone)
