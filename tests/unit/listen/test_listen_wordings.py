"""Ordinary sentences, as people type them: so many are understood, and hardly any secret is kept."""

import asyncio
from collections import Counter

import pytest

from benchmarks.wordings import PEOPLE, ROUTINES, SENTENCES, measure


@pytest.fixture(scope="module")
def counts() -> Counter[str]:
    return sum(asyncio.run(measure([SENTENCES, ROUTINES, PEOPLE])).values(), Counter())


@pytest.mark.parametrize(
    ("right", "of", "least"),
    [
        ("said: right", "said", 0.8),
        ("update: old gone", "update: old known", 0.57),
        ("update: right", "update", 0.45),
        ("forget: old gone", "forget: old known", 0.98),
        ("none: empty", "none", 0.995),
    ],
)
def test_so_many_are_understood(counts: Counter[str], right: str, of: str, least: float) -> None:
    assert counts[right] / counts[of] >= least


def test_hardly_any_secret_of_a_routine_or_about_people_is_kept(counts: Counter[str]) -> None:
    assert counts["private: kept"] / counts["private"] < 0.016
