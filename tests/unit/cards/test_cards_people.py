"""What is read as a phrase about people, and what only looks like one."""

import pytest

from sager_language.personal.routines import whom


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
