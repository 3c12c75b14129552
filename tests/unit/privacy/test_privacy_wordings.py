"""Messages by writers who did not know the rules: nothing of their secrets reaches a card or its log."""

from pathlib import Path

import pytest

from benchmarks.wordings import PEOPLE, ROUTINES, cases, figures_of, played

SLIP_THROUGH = {
    ROUTINES: {"s215", "s226", "r046", "r052", "r157"},
    PEOPLE: {"a021", "a028", "a041", "b021", "b022", "b027", "b028"},
}
"""What no list knows. Of routines: a lake, a rare name, a bottle a night, a drug called speed; and kosher, a kitchen's
word. Of people: silver foxes, dads, teenagers, firemen, female bosses; and with whom somebody will not work.
"""
NOT_KEPT = {
    "a073", "a082", "a096", "a099", "a104", "a112", "a136", "b064", "b082", "b093", "b098", "b108", "b130", "b132",
}  # fmt: skip
"""False alarms, and what the rules do not understand."""


@pytest.mark.parametrize("path", SLIP_THROUGH, ids=lambda path: path.stem)
async def test_no_secret_is_kept(path: Path) -> None:
    secrets = [case for case in cases(path) if case.kind == "private"]
    kept = {case.id for case in secrets if figures_of(case, await played(case))["private: kept"]}

    assert kept == SLIP_THROUGH[path]


async def test_tastes_that_use_words_for_people_are_kept() -> None:
    tastes = [case for case in cases(PEOPLE) if case.kind == "said"]
    lost = {case.id for case in tastes if not figures_of(case, await played(case))["said: right"]}

    assert lost == NOT_KEPT
