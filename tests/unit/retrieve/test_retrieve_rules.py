"""The pruning rules against figures reckoned by hand from the published table (peers.md 2.3)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.graph.domain_rules import RULES, PruneSignals, books

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
def test_books(signals: PruneSignals, score: float) -> None:
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
