"""Which neighbours are kept, and what the rules are told of them."""

import math
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from operators.neighbourhood import Neighbourhood
from operators.retrieve import Neighbours, RetrieveLimits, ScoredItem, ScoredUser, domain_prune
from operators.retrieve.prune import _select, item_neighbour
from operators.retrieve.rules import Signals
from schemas import Memory
from tests.unit.retrieve.retrieve_builders import (
    MEMORIES,
    NEIGHBOURHOODS,
    NOW,
    member,
    memory,
    neighbourhood,
    scored_item,
    scored_user,
    signal,
    taken,
    taste,
)

NOIR, WRY = "preference:genre:noir", "preference:mood:wry"
LIMITS = RetrieveLimits()

HELD = memory(
    taken("b1", "genre: noir", "author: Chandler", days=400, title="The Big Sleep"),
    taken("b2", "genre: noir", "mood: wry", days=100, times=3, title="The Long Goodbye"),
    taken("b3", "mood: wry", "era: 1930s", days=10, title="The Little Sleep"),
    taken("b4", days=1),
)
HEARD = neighbourhood(
    signal(
        "b1",
        member("x", degree=4, days=300),
        member("y", degree=8, days=50),
        takers=6,
        tastes=(taste(NOIR, "x", "y"), taste("preference:genre:romance", "y")),
    ),
    signal("b2", member("x", degree=5, days=20), takers=3, tastes=(taste(WRY, "x"),)),
)


def by_name(found: Neighbours) -> dict[str, Signals]:
    ones: list[ScoredItem | ScoredUser] = [*found.items, *found.users]
    return {one.neighbour: one.signals for one in ones}


def pruned(domain: str = "books") -> Neighbours:
    return domain_prune(HELD, HEARD, domain, NOW, LIMITS)


def test_full_weighs_recency_with_frequency() -> None:
    seen = by_name(pruned())
    most = 0.5 * (1 + math.log(3))  # b2, taken three times: 1.049

    assert seen["item:b2"].edge == pytest.approx(1.0)
    assert seen["item:b4"].edge == pytest.approx(1.0 / most)
    assert seen["item:b1"].edge == pytest.approx(0.25 / most)


def test_full_counts_true_days_and_the_items_other_takers() -> None:
    seen = by_name(pruned())

    assert [seen[f"item:b{n}"].days for n in (1, 2, 3, 4)] == [400, 100, 10, 1]
    assert [seen[f"item:b{n}"].co_count for n in (1, 2, 3, 4)] == [6, 3, 0, 0]
    assert (seen["user:x"].days, seen["user:y"].days) == (20, 50)


def test_full_measures_overlap_against_what_the_user_takes_most() -> None:
    seen = by_name(pruned())  # noir and wry, twice each

    assert [seen[f"item:b{n}"].metadata for n in (1, 2, 3)] == [0.5, 1.0, 0.5]
    assert seen["item:b4"].metadata == 0.5  # nothing known of it
    assert seen["user:x"].metadata == 1.0  # noir, wry
    assert seen["user:y"].metadata == 0.5  # noir, romance


def test_one_shared_taste_is_no_full_overlap_and_none_known_is_memrecs_constant() -> None:
    one = neighbourhood(signal("b1", member("x"), member("z"), tastes=(taste(NOIR, "x"),)))
    seen = by_name(domain_prune(HELD, one, "books", NOW))

    assert (seen["user:x"].metadata, seen["user:z"].metadata) == (0.5, 0.0)


def test_full_compares_titles_with_the_nearest_other_title() -> None:
    seen = by_name(pruned())

    # {big, sleep} and {little, sleep}; {long, goodbye} shares only "the", which is no word here.
    assert [seen[f"item:b{n}"].similarity for n in (1, 2, 3, 4)] == pytest.approx([0.5, 0.0, 0.5, 0.0])


def test_full_compares_tastes_with_facts() -> None:
    seen = by_name(pruned())
    length = math.sqrt(2**2 + 2**2 + 1 + 1)  # noir 2, wry 2, Chandler 1, 1930s 1

    assert seen["user:x"].similarity == pytest.approx(4 / (length * math.sqrt(2)))
    assert seen["user:y"].similarity == pytest.approx(2 / (length * math.sqrt(2)))


@pytest.mark.parametrize(
    ("domain", "b2", "x"),
    [
        # b2: e 1, m 1, c 3, q 0, d 100. x: e 0.4, m 1, c 2, q 0.8944, d 20.
        ("books", 2.5, 0.4 * 2.5 * (1 + 0.8 * 4 / math.sqrt(20))),
        ("goodreads", 3.0, 0.4 * (1 + 4 / math.sqrt(20)) * 3.0),
        ("movietv", (2.5 * math.exp(-1.8) + 1) * 1.5, (0.4 + 2.8) * (1 + 1.5 * 4 / math.sqrt(20)) * 1.5),
        ("yelp", 2.0 * 4.5 * math.exp(-2.8), 0.4 * 2.0 * 4.5 * (1 + 2.2 * 4 / math.sqrt(20))),
        ("recipes", 0.5 + 0.3 * 3 / 6, 0.5 * (0.7 * 0.4 + 0.3 * 5 / 8)),
    ],
)
def test_full_scores_in_every_domain(domain: str, b2: float, x: float) -> None:
    found = pruned(domain)

    assert next(one.score for one in found.items if one.neighbour == "item:b2") == pytest.approx(b2)
    assert next(one.score for one in found.users if one.neighbour == "user:x") == pytest.approx(x)


def test_a_degree_smaller_than_the_overlap_makes_no_edge_over_one() -> None:
    heard = neighbourhood(*(signal(f"b{n}", member("x", degree=0)) for n in (1, 2, 3)))

    assert by_name(domain_prune(HELD, heard, "books", NOW))["user:x"].edge == 1.0


def test_a_time_in_the_future_counts_as_now() -> None:
    found = domain_prune(memory(taken("b1", days=-5)), neighbourhood(), "books", NOW)

    assert found.items[0].signals.days == 0.0


def test_an_item_that_stands_twice_counts_once_by_its_newest() -> None:
    found = domain_prune(memory(taken("b1", days=9), taken("b2"), taken("b1", days=1)), neighbourhood(), "books", NOW)

    assert [(one.taken.item_id, one.signals.days) for one in found.items] == [("b1", 1.0), ("b2", 0.0)]


def test_the_newest_of_two_signals_of_an_item_counts() -> None:
    heard = neighbourhood(signal("b1", member("new"), epoch=9), signal("b1", member("old"), epoch=2))

    assert [one.neighbour for one in domain_prune(HELD, heard, "books", NOW).users] == ["user:new"]


def test_only_the_fifty_with_most_overlap_are_looked_at() -> None:
    often = [signal(f"b{n}", *(member(f"often{m}", degree=99) for m in range(12))) for n in (0, 1)]
    once = [signal(f"b{n}", *(member(f"once{n}-{m:02}", degree=1) for m in range(12))) for n in range(2, 12)]
    limits = RetrieveLimits(k=100, min_users=90, min_items=0)
    names = [one.neighbour for one in domain_prune(HELD, neighbourhood(*often, *once), "goodreads", NOW, limits).users]

    assert len(names) == 50
    assert sum("often" in name for name in names) == 12  # though their edges are the weakest
    assert names[0] == "user:once10-00"  # and of equal ones the first by id


def test_a_crowd_member_that_is_no_user_is_not_one() -> None:
    odd = replace(member("x"), neighbour="item:b9")

    assert domain_prune(HELD, neighbourhood(signal("b1", odd)), "books", NOW).users == ()


def test_an_item_with_the_longest_id_can_be_cited() -> None:
    assert item_neighbour("b" * 253) == "item:" + "b" * 253
    assert len(item_neighbour("b" * 254)) < 30
    assert item_neighbour("b" * 254) != item_neighbour("b" * 255)


# --- selection ------------------------------------------------------------------------------------------------------


def selected(items: list[float], users: list[float], limits: RetrieveLimits = LIMITS) -> tuple[list[str], list[str]]:
    found = _select(
        [scored_item(f"i{n:02}", score=score) for n, score in enumerate(items)],
        [scored_user(f"u{n:02}", score=score) for n, score in enumerate(users)],
        limits,
    )
    return [one.neighbour[5:] for one in found.items], [one.neighbour[5:] for one in found.users]


def test_four_users_and_six_items_are_sure_whatever_the_others_score() -> None:
    items, users = selected([9.0] * 30, [0.1] * 30)
    assert (len(items), users) == (12, ["u00", "u01", "u02", "u03"])

    items, users = selected([0.1] * 30, [9.0] * 30)
    assert (items, len(users)) == ([f"i{n:02}" for n in range(6)], 10)


def test_the_rest_is_filled_by_score_from_both_sides() -> None:
    items, users = selected([5, 5, 5, 5, 5, 5, 4, 2], [9, 9, 9, 9, 3, 1], RetrieveLimits(k=12))
    assert items == ["i00", "i01", "i02", "i03", "i04", "i05", "i06"]
    assert users == ["u00", "u01", "u02", "u03", "u04"]


def test_fewer_are_kept_where_there_are_fewer() -> None:
    assert selected([1.0, 2.0], []) == (["i01", "i00"], [])
    assert selected([], [1.0]) == ([], ["u00"])
    assert selected([], []) == ([], [])


def test_one_side_fills_what_the_other_leaves() -> None:
    items, users = selected([1.0] * 30, [1.0])
    assert (len(items), len(users)) == (15, 1)


@pytest.mark.parametrize(
    "wrong", [{"k": 9}, {"facets": 11}, {"min_users": -1}, {"companions": -1}, {"k": 5, "min_items": 0, "min_users": 6}]
)
def test_limits_that_contradict_each_other_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must"):
        RetrieveLimits(**wrong)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(MEMORIES, NEIGHBOURHOODS, st.sampled_from(["books", "goodreads", "movietv", "yelp", "x"]))
def test_bounds_hold_and_nothing_depends_on_order(held: Memory, heard: Neighbourhood, domain: str) -> None:
    found = domain_prune(held, heard, domain, NOW, LIMITS)
    users = {one.neighbour for s in heard.signals for one in s.crowd if one.neighbour.startswith("user:")}
    items = {one.item_id for one in held.taken}

    assert len(found.items) + len(found.users) == len(found.names) <= LIMITS.k
    assert len(found.items) >= min(LIMITS.min_items, len(items))
    assert len(found.items) + len(found.users) >= min(10, len(items)) if users else True
    kept: tuple[Any, ...] = (*found.items, *found.users)
    for one in kept:
        assert math.isfinite(one.score)
        seen = one.signals
        assert all(0 <= value <= 1 for value in (seen.edge, seen.metadata, seen.similarity, seen.degree))
        assert seen.days >= 0
    # Of signals with the same item and epoch, which cannot be, the last one counts.
    if len({one.item_id for one in heard.signals}) == len(heard.signals):
        turned = replace(heard, signals=heard.signals[::-1])
        assert domain_prune(held, turned, domain, NOW, LIMITS).names == found.names


def test_neighbours_do_not_depend_on_when_within_an_instant_they_are_asked_for() -> None:
    assert pruned() == pruned()
    assert domain_prune(HELD, HEARD, "books", NOW + timedelta(days=365)).names == pruned().names
