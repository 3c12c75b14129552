"""Ordinary sentences, as people type them: so many are understood, and what only sounds like an end ends nothing."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.wordings import SENTENCES, Case, measure, played


@pytest.fixture(scope="module")
def counts() -> Counter[str]:
    return sum(asyncio.run(measure([SENTENCES])).values(), Counter())


@pytest.mark.parametrize(
    ("right", "of", "least"),
    [
        ("said: right", "said", 0.8),
        ("update: old gone", "update: old known", 0.57),
        ("update: right", "update", 0.44),
        ("forget: old gone", "forget: old known", 0.98),
        ("none: empty", "none", 0.995),
    ],
)
def test_so_many_are_understood(counts: Counter[str], right: str, of: str, least: float) -> None:
    assert counts[right] / counts[of] >= least


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
