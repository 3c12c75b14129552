import warnings

import pytest

from operators.statinit import text
from schemas import MAX_FACTS


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Noir|Heist", ["Noir", "Heist"]),
        ("Ramen, Bubble Tea", ["Ramen", "Bubble Tea"]),
        ("['Arts, Crafts & Sewing', \"Children's\"]", ["Arts, Crafts & Sewing", "Children's"]),
        ("[u'Drama', u'War']", ["Drama", "War"]),
        ([{"id": 7, "name": "Western"}], ["Western"]),
        ("[{'id': 7, 'name': 'Western'}]", ["Western"]),
        ({"epics": 12, "poems": 0}, ["epics"]),
        (1999, ["1999"]),
        (None, []),
    ],
)
def test_every_spelling_of_a_list_is_read(raw: object, expected: list[str]) -> None:
    assert text.as_list(raw) == expected


@pytest.mark.parametrize(
    "hostile",
    [
        "[" * 4_000 + "]" * 4_000,
        "[" * 300 + "1" + "]" * 300,
        "[" + "-" * 3_000 + "1]",
        "[__import__('os').system('true')]",
        "[1if 2else 3]",
        "['\\d\\q']",
        "['a'" * 500 + "]",
        "{[]: 1}",
        "[" + "9" * 4_000 + "]",
        "(" + "'" * 3_001 + ")",
        "[\x00]",
    ],
)
def test_no_literal_can_harm_or_warn(hostile: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(isinstance(entry, str) for entry in text.as_list(hostile))


@pytest.mark.parametrize(
    ("metadata", "title", "year", "era"),
    [
        ({"year": 1987}, "", "1987", "1980s"),
        ({"year": "n/a", "published": "May 1999"}, "", "1999", "1990s"),
        ({"year": 10**30}, "Dust (1921)", "1921", "1920s"),
        ({"year": True}, "", "", ""),
        ({}, "2001 Nights", "", ""),
        ({}, "Harbour (2011)", "2011", "2010s"),
    ],
)
def test_the_year_is_read_and_the_era_is_its_decade(
    metadata: dict[str, object], title: str, year: str, era: str
) -> None:
    assert text.year(text.by_key(metadata), title) == year
    assert text.decade(year) == era


def test_facts_are_distinct_in_identity_and_bounded() -> None:
    found = text.facts(("genre", ["Sci-Fi", "sci fi", "???", "Noir"], 9), ("tag", (f"t{n}" for n in range(99)), 99))

    assert [fact.value for fact in found[:2]] == ["Sci-Fi", "Noir"]
    assert len(found) == MAX_FACTS
