"""The page about corrections tells the truth: what it says is understood is, and what it says is not is not."""

import re
from pathlib import Path

import pytest

from schemas import ItemFacts
from tests.builders import facts
from tests.unit.understand.understand_builders import understood

PAGE = (Path(__file__).parents[3] / "docs" / "corrections.md").read_text(encoding="utf-8")
VOCABULARY = facts("genre: horror", "genre: comedy", "genre: western", "genre: krimi", "genre: komödie")
ITEMS = (
    ItemFacts(item_id="a", title="Salt Harbour", facts=facts("genre: horror"), measures={"price": 10, "year": 2001}),
    ItemFacts(item_id="b", title="Blue Door", facts=facts("genre: comedy"), measures={"price": 20, "year": 2011}),
    ItemFacts(item_id="c", title="Last Light", facts=facts("genre: krimi"), measures={"price": 30, "year": 2021}),
)


def _rows(heading: str) -> list[list[str]]:
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in row.strip("|").split("|")] for row in re.findall(r"^\|.*\|$", section, re.MULTILINE)
    ]
    return rows[2:]


@pytest.mark.parametrize("text", [cell for row in _rows("What is understood") for cell in row[:2]])
def test_what_the_page_says_is_understood(text: str) -> None:
    assert understood(text, ITEMS, vocabulary=VOCABULARY).is_understood


@pytest.mark.parametrize("text", [row[0] for row in _rows("What is not")])
def test_what_the_page_says_is_not(text: str) -> None:
    assert not understood(text, ITEMS, vocabulary=VOCABULARY).is_understood


def test_the_page_has_examples() -> None:
    assert (len(_rows("What is understood")), len(_rows("What is not"))) == (26, 11)
