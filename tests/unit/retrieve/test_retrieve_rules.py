"""The pruning rules against figures reckoned by hand from the published table (peers.md 2.3)."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.retrieve.rules import RULES, Signals, books, generic, goodreads, movietv, rule_for, yelp

ITEM, USER = True, False
E_M0_8 = 0.4493289641
"""exp(-0.8), as on paper."""


def seen(is_item: bool = ITEM, e: float = 1.0, m: float = 0.5, c: int = 0, q: float = 0.0, d: float = 0.0) -> Signals:
    return Signals(is_item, e, m, c, q, d)


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
def test_books(signals: Signals, score: float) -> None:
    assert books(signals) == pytest.approx(score)


@pytest.mark.parametrize(
    ("signals", "score"),
    [
        (seen(e=0.8), 0.8),
        (seen(q=0.5), 1.5),
        (seen(USER, q=0.5), 1.5),
        (seen(c=10, q=0.5), 1.5),
        (seen(c=11, q=0.5), 3.5),
        (seen(c=15), 2.0),
        (seen(c=16), 2.1),
        (seen(m=0.8), 1.0),
        (seen(m=0.81), 3.0),
        (seen(d=365), 1.0),
        (seen(d=400), E_M0_8),
        (seen(m=0.9, c=16, q=0.2, d=400), 8.19 * E_M0_8),
    ],
)
def test_goodreads(signals: Signals, score: float) -> None:
    assert goodreads(signals) == pytest.approx(score)


@pytest.mark.parametrize(
    ("signals", "score"),
    [
        (seen(), 2.4),
        (seen(m=0.0), 1.0),
        (seen(c=2), 2.4),
        (seen(c=3), 3.5),
        (seen(d=60, m=0.0), 1.0),
        (seen(d=100, m=0.0), 0.1652988882),
        (seen(d=180, m=0.0), 0.0391638951),
        (seen(d=200, m=0.0), 0.0067379470),
        (seen(d=365, m=0.0), math.exp(-9.125)),
        (seen(d=400, m=0.0), 0.3 * 0.0000453999),
        (seen(m=0.6), 2.68),
        (seen(m=0.7), 4.44),
        (seen(q=0.5), 4.2),
        (seen(c=3, q=0.5), 6.65),
        (seen(USER, e=0.4, m=1.0, c=3, q=0.5), 5.7),
    ],
)
def test_movietv(signals: Signals, score: float) -> None:
    assert movietv(signals) == pytest.approx(score, rel=1e-6)


@pytest.mark.parametrize(
    ("signals", "score"),
    [
        (seen(), 0.5),
        (seen(c=1), 0.5),
        (seen(c=2), 2.0),
        (seen(m=0.0, c=2), 0.4),
        (seen(m=0.39, c=2), 0.4),
        (seen(m=0.4, c=2), 2.0),
        (seen(m=0.7, c=2), 2.0),
        (seen(m=0.71, c=2), 7.0),
        (seen(m=0.85, c=2), 7.0),
        (seen(m=0.86, c=2), 9.0),
        (seen(c=2, q=0.5), 3.0),
        (seen(m=0.8, c=2, q=0.5), 14.7),
        (seen(c=2, d=90), 2.0),
        (seen(c=2, d=100), 2 * 0.0608100626),
        (seen(c=2, d=180), 2 * math.exp(-5.04)),
        (seen(c=2, d=200), 0.0036978637),
        (seen(USER, m=0.0, c=2), 0.4),
    ],
)
def test_yelp(signals: Signals, score: float) -> None:
    assert yelp(signals) == pytest.approx(score, rel=1e-6)


@pytest.mark.parametrize(("is_item", "score"), [(ITEM, 0.5 * 0.8 + 0.3 * 0.5), (USER, 0.5 * (0.7 * 0.8 + 0.3 * 0.5))])
def test_a_domain_without_a_rule_weighs_recency_and_popularity(is_item: bool, score: float) -> None:
    assert generic(Signals(is_item, 0.8, 1.0, 9, 1.0, 999, degree=0.5)) == pytest.approx(score)


@pytest.mark.parametrize(
    ("domain", "rule"),
    [
        ("books", books),
        ("amazon_books", books),
        ("goodreads", goodreads),
        ("films", movietv),
        ("movielens", movietv),
        ("restaurants", yelp),
        ("generic", generic),
        ("recipes", generic),
    ],
)
def test_a_domain_has_its_own_rule_or_its_parsers(domain: str, rule: object) -> None:
    assert rule_for(domain) is rule


@given(
    st.sampled_from(sorted(RULES)),
    st.builds(
        Signals,
        is_item=st.booleans(),
        edge=st.floats(0, 1),
        metadata=st.floats(0, 1),
        co_count=st.integers(0, 10**9),
        similarity=st.floats(0, 1),
        days=st.floats(0, 1e7),
        degree=st.floats(0, 1),
    ),
)
def test_every_score_is_finite_and_not_negative(domain: str, signals: Signals) -> None:
    assert 0 <= RULES[domain](signals) < 100
