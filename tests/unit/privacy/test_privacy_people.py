"""Whom people like or reject for what they are stays off cards, and tastes that only use such words do not."""

from pathlib import Path

import pytest

from benchmarks.wordings import cases, figures_of, played
from operators.cards.people import whom

PEOPLE = Path(__file__).parent / "people.jsonl"
CASES = list(cases(PEOPLE))
SLIP_THROUGH = {"a021", "a028", "a041", "b021", "b022", "b027", "b028"}
"""What no list knows: silver foxes, dads, teenagers, firemen, female bosses; and with whom somebody will not work."""
NOT_KEPT = {
    "a073", "a082", "a096", "a099", "a104", "a112", "a136", "b064", "b082", "b093", "b098", "b108", "b130", "b132",
}  # fmt: skip
"""False alarms, and what the rules do not understand."""


async def test_nothing_is_kept_of_whom_somebody_likes_or_rejects() -> None:
    secrets = [case for case in CASES if case.kind == "private"]
    kept = {case.id for case in secrets if figures_of(case, await played(case))["private: kept"]}

    assert kept == SLIP_THROUGH


async def test_tastes_that_use_such_words_are_kept() -> None:
    tastes = [case for case in CASES if case.kind == "said"]
    lost = {case.id for case in tastes if not ((card := (await played(case)).card) and card.lines)}

    assert lost == NOT_KEPT


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("Men", ["sexuality"]),
        ("OLDER MEN", ["sexuality"]),
        ("Ältere Männer", ["sexuality"]),
        ("hommes grands", ["sexuality"]),
        ("a tall woman with glasses", ["sexuality"]),
        ("being spanked", ["sexuality"]),
        ("dating older men", ["sexuality"]),
        ("coffee with milk and older men", ["sexuality"]),
        ("the French", ["origin"]),
        ("Asiatinnen", ["origin"]),
        ("white people", ["origin"]),
        ("Poles", ["origin"]),
        ("ski poles", []),
        ("12 Angry Men", []),
        ("two and a half men", []),
        ("Drei Männer im Schnee", []),
        ("women football", []),
        ("women's football", []),
        ("books by women", []),
        ("films with black people", []),
        ("people who laugh a lot", []),
        ("deutschen Rap", []),
        ("my boys", []),
        ("Man United", []),
        ("French films", []),
        ("sex", ["sexuality"]),
        ("Sex and the City", []),
        ("oral history", []),
    ],
)
def test_whom(value: str, told: list[str]) -> None:
    assert list(whom(value)) == told
