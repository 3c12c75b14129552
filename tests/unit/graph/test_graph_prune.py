"""Which neighbours are kept, and what the rules are told of them."""

import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from operators.graph.neighbours import Neighbourhood
from operators.graph.prune import (
    MAX_NEIGHBOURS,
    MIN_ITEMS,
    RULES,
    Neighbours,
    PruneSignals,
    UserGraph,
    books,
    domain_prune,
)
from schemas import Memory
from tests.unit.graph.graph_builders import (
    MEMORIES,
    NEIGHBOURHOODS,
    NOW,
    member,
    memory,
    neighbourhood,
    signal,
    taken,
    taste,
)

NOIR, WRY = "preference:genre:noir", "preference:mood:wry"

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


def names_of(found: Neighbours) -> set[str]:
    return {one.name for one in (*found.items, *found.users)}


def pruned(domain: str = "books") -> Neighbours:
    return domain_prune(HELD, HEARD, domain, NOW)


def test_edge_combines_recency_and_frequency() -> None:
    edges = [signals.edge for signals in UserGraph(HELD, HEARD, NOW).item_signals()]
    most = 0.5 * (1 + math.log(3))  # b2, taken three times: 1.049

    assert edges == pytest.approx([0.25 / most, 1.0, 0.75 / most, 1.0 / most])


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
def test_every_domain_rule_scores_its_signals(domain: str, b2: float, x: float) -> None:
    found = pruned(domain)

    assert next(one.score for one in found.items if one.name == "item:b2") == pytest.approx(b2)
    assert next(one.score for one in found.users if one.name == "user:x") == pytest.approx(x)


def test_future_time_counts_as_now() -> None:
    [signals] = UserGraph(memory(taken("b1", days=-5)), neighbourhood(), NOW).item_signals()

    assert signals.days == 0.0


def test_user_pool_keeps_the_fifty_with_most_overlap() -> None:
    often = [signal(f"b{n}", *(member(f"often{m}", degree=99) for m in range(12))) for n in (0, 1)]
    once = [signal(f"b{n}", *(member(f"once{n}-{m:02}", degree=1) for m in range(12))) for n in range(2, 12)]
    names = [one.latest.neighbour for one in UserGraph(HELD, neighbourhood(*often, *once), NOW).members]

    assert len(names) == 50
    assert sum("often" in name for name in names) == 12
    assert names[12] == "user:once10-00"  # and of equal ones the first by id


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(MEMORIES, NEIGHBOURHOODS, st.sampled_from(["books", "goodreads", "movietv", "yelp", "x"]))
def test_pruning_is_bounded_and_order_independent(held: Memory, heard: Neighbourhood, domain: str) -> None:
    found = domain_prune(held, heard, domain, NOW)
    users = {one.neighbour for s in heard.signals for one in s.crowd if one.neighbour.startswith("user:")}
    items = {one.item_id for one in held.taken}

    assert len(found.items) + len(found.users) == len(names_of(found)) <= MAX_NEIGHBOURS
    assert len(found.items) >= min(MIN_ITEMS, len(items))
    assert len(found.items) + len(found.users) >= min(10, len(items)) if users else True
    graph = UserGraph(held, heard, NOW)
    for signals in (*graph.item_signals(), *map(graph.user_signals, graph.members)):
        assert all(0 <= value <= 1 for value in (signals.edge, signals.metadata, signals.similarity, signals.degree))
        assert signals.days >= 0
    assert all(math.isfinite(one.score) for one in (*found.items, *found.users))
    turned = replace(heard, signals=heard.signals[::-1])
    assert names_of(domain_prune(held, turned, domain, NOW)) == names_of(found)


ITEM, USER = True, False
E_M0_8 = 0.4493289641
"""exp(-0.8), as on paper."""


def seen(
    is_item: bool = ITEM, e: float = 1.0, m: float = 0.5, c: int = 0, q: float = 0.0, d: float = 0.0
) -> PruneSignals:
    return PruneSignals(is_item, e, m, c, q, d)


@pytest.mark.parametrize(
    ("signals", "score"),
    [
        (seen(e=0.8), 0.8),
        (seen(m=0.6), 1.0),
        (seen(m=0.61), 2.5),
        (seen(c=3), 1.0),
        (seen(c=4), 1.8),
        (seen(c=3, q=0.6), 1.72),
        (seen(c=4, q=0.5), 2.88),
        (seen(c=4, q=0.6), 4.644),
        (seen(d=180), 1.0),
        (seen(d=200), E_M0_8),
        (seen(q=0.5), 1.6),
        (seen(USER, q=0.5), 1.4),
        (seen(USER, e=0.5, m=0.7, c=4, q=0.6, d=200), 4.995 * E_M0_8),
    ],
)
def test_book_rule_scores_its_signals(signals: PruneSignals, score: float) -> None:
    assert books(signals) == pytest.approx(score)


@given(
    st.sampled_from(sorted(RULES)),
    st.builds(
        PruneSignals,
        is_item=st.booleans(),
        edge=st.floats(0, 1),
        metadata=st.floats(0, 1),
        co_count=st.integers(0, 10**9),
        similarity=st.floats(0, 1),
        days=st.floats(0, 1e7),
        degree=st.floats(0, 1),
    ),
)
def test_every_score_is_finite_and_not_negative(domain: str, signals: PruneSignals) -> None:
    assert 0 <= RULES[domain](signals) < 100
