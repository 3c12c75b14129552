"""The test of change on the demo's people: quiet while their taste holds, and not blind when it ends."""

from benchmarks.shifts import measured


def test_people_whose_taste_holds_are_not_suspected_and_some_of_those_whose_taste_ends_are() -> None:
    found = measured(30, 16, 1)

    assert (found["alarmed"], found["alarms"]) == (0, 0)
    assert found["seen"] >= 5
    assert found["median_choices"] <= 14
