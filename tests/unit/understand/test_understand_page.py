"""The pages about corrections tell the truth: sentences are understood, or not, as they state."""

import json
import re
from pathlib import Path

import pytest

from operators.merge import resolve_correction
from operators.stated import in_words
from schemas import ItemFacts
from streams.privacy import DEFAULT as PRIVACY
from tests.builders import facts
from tests.unit.understand.understand_builders import a_bare_skill, a_correction, understood

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "corrections.md").read_text(encoding="utf-8")
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


def _quoted(begins: str, ends: str) -> list[str]:
    """The sentences that a paragraph quotes between two of its phrases."""
    paragraph = " ".join(PAGE.partition(begins)[2].partition(ends)[0].split())
    return re.findall(r'"([^"]+)"', paragraph)


def test_sentences_about_another_and_the_person_are_read_as_the_page_says() -> None:
    of_both = _quoted("What says *I*", "A pronoun")
    (by_pronoun,) = _quoted("A pronoun names nothing", "### Orders in a text")

    assert len(of_both) == 3
    assert [text for text in of_both if not understood(text, ITEMS, vocabulary=VOCABULARY).is_understood] == []
    assert not understood(by_pronoun, ITEMS, vocabulary=VOCABULARY).is_understood


def test_the_example_answer_over_http_has_what_a_worker_answers() -> None:
    """Statement id, phrase and the words that are kept."""
    page = (DOCS / "http.md").read_text(encoding="utf-8").partition("## Corrections\n")[2]
    (shown,) = json.loads(page.partition("```json\n")[2].partition("```")[0])["stated"]
    said = a_correction("no horror, please", ITEMS)
    diff = resolve_correction(
        a_bare_skill(), said, ITEMS, understood(said.text, ITEMS, vocabulary=VOCABULARY), privacy=PRIVACY
    )

    (statement,) = [change.statement for change in diff.stated]
    assert statement is not None
    assert shown == {
        "statement_id": statement.statement_id,
        "says": in_words(statement),
        "words": statement.words,
        "scope": statement.scope.value,
    }


def test_the_page_has_examples() -> None:
    assert (len(_rows("What is understood")), len(_rows("What is not"))) == (26, 11)
