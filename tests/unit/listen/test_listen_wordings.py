"""Ordinary sentences, most of which no rule was written after: what is understood, and what is never kept."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.wordings import ROUTINES, SENTENCES, Case, cases, figures_of, measure, played

SLIP_THROUGH = {"s215", "s226", "r046", "r052", "r157"}
"""What no list tells: a lake, a rare name, a bottle a night, a drug by a word of sport; and a word of the kitchen."""


@pytest.fixture(scope="module")
def counts() -> Counter[str]:
    return sum(asyncio.run(measure([SENTENCES])).values(), Counter())


@pytest.mark.parametrize(
    ("right", "of", "least"),
    [
        ("said: right", "said", 0.8),
        ("update: old gone", "update: old known", 0.58),
        ("update: right", "update", 0.45),
        ("forget: old gone", "forget: old known", 0.98),
        ("none: empty", "none", 0.995),
    ],
)
def test_so_many_are_understood(counts: Counter[str], right: str, of: str, least: float) -> None:
    assert counts[right] / counts[of] >= least


async def test_nothing_of_a_private_routine_is_kept() -> None:
    kept = set()
    for case in cases(ROUTINES):
        if figures_of(case, await played(case))["private: kept"]:
            kept.add(case.id)
    assert kept == SLIP_THROUGH


STAYS = [
    tuple(part.strip() for part in row.split(" | "))
    for row in (Path(__file__).parent / "stays.txt").read_text(encoding="utf-8").splitlines()
    if not row.startswith("#")
]


@pytest.mark.parametrize(("said", "later", "stays"), STAYS)
async def test_what_only_sounds_like_the_end_of_something_ends_nothing(said: str, later: str, stays: str) -> None:
    person = await played(Case("a", "update", (said, later)))
    assert person.card is not None
    assert stays in [line.value for line in person.card.lines]
