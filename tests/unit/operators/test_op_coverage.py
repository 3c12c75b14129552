"""What a parser finds, and whether users can be told apart by it (paper App. E.1)."""

from collections.abc import Sequence

import pytest

from operators.coverage import Coverage, coverage
from operators.statinit import parser_for
from schemas import Attribute, Candidate, Tier
from tests.builders import an_attribute

NOIR, SAGA = an_attribute("genre: noir", Tier.HIGH), an_attribute("genre: saga", Tier.LOW)


def of_users(*priors: Sequence[Attribute]) -> Coverage:
    return coverage([], priors)


@pytest.mark.parametrize(
    ("priors", "same", "empty", "apart"),
    [
        ([[], [], []], 1.0, 1.0, False),
        ([[NOIR]] * 3, 1.0, 0.0, False),
        ([[NOIR], [NOIR], [], [SAGA]], 0.75, 0.25, False),
        ([[NOIR], [NOIR], [SAGA], [SAGA, NOIR]], 0.5, 0.0, True),
        ([[NOIR]], 0.0, 0.0, True),
        ([], 0.0, 0.0, False),
    ],
)
def test_users_are_told_apart_when_at_most_half_have_the_same_skill_or_none(
    priors: list[list[Attribute]], same: float, empty: float, apart: bool
) -> None:
    found = of_users(*priors)

    assert (found.same, found.empty, found.tells_users_apart) == (same, empty, apart)


def test_the_papers_failure_is_visible() -> None:
    """A parser for places reads books: nothing found, and nobody would have noticed."""
    books = [Candidate(item_id=f"b{n}", title=f"Book {n}", metadata={"genres": ["mystery"]}) for n in range(5)]
    parse = parser_for("books", {"books": "yelp"})

    assert coverage([parse(book) for book in books], [()]).items_read == 0
    assert coverage([parser_for("books", {})(book) for book in books], [()]).items_read == 1
