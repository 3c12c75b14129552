"""How much of what people say is understood, and how much of what is understood was said."""

from pathlib import Path

import pytest

from operators.language.understood import About, Read, Understood
from sager_language.corrections.names import may_be_named
from schemas import Fact, ItemFacts
from tests.builders import facts
from tests.unit.understand.understand_builders import understood

TABLE = Path(__file__).with_name("sentences.tsv")
UNSEEN = Path(__file__).with_name("sentences-unseen.tsv")
LATER = Path(__file__).with_name("sentences-later.tsv")
VOCABULARY = facts(
    *("colour: purple", "colour: schwarz", "genre: horror", "genre: comedy", "genre: romantic comedy"),
    *("genre: krimi", "genre: komödie", "feature: noise cancelling"),
)


def _shown(item_id: str, title: str, price: float, year: float, rating: float, *said: str) -> ItemFacts:
    return ItemFacts(
        item_id=item_id,
        title=title,
        facts=facts(*said),
        measures={"price": price, "year": year, "rating": rating},
    )


ITEMS = (
    _shown(
        "h1", "Okapi One", 50, 2020, 4.0, "wearing_style: in-ear design", "colour: red", "connection: bluetooth link"
    ),
    _shown(
        "h2",
        "Fennec Two",
        80,
        2022,
        4.5,
        "wearing_style: on-ear design",
        "colour: blue",
        "connection: wired connection",
    ),
    _shown(
        "h3",
        "Quokka Three",
        20,
        2015,
        3.5,
        *("wearing_style: behind-the-neck band", "colour: green", "connection: 2.4 GHz low-latency dongle"),
    ),
)


def _told(read: Read) -> str:
    said = read.directive
    scope = f" @{read.scope.value}" if read.scope else ""
    if said.bound is not None:
        less = said.bound.below is not None
        amount = said.bound.below if less else said.bound.above
        return f"{said.bound.measure.value}{'<' if less else '>'}{amount:g}{scope}"
    what = f"#{said.item_id}" if said.item_id else f"{said.dimension}={said.value}"
    over = f" over {said.over}" if said.over else ""
    return f"{said.stance.value} {what}{over}{' changed' if said.changed else ''}{scope}"


def told(found: Understood) -> list[str]:
    """What was understood, as the table has it."""
    return [*map(_told, found.says), *(f"suits #{item}" for item in found.suits)]


def sentences(table: Path) -> list[tuple[str, list[str], str | None]]:
    """The sentence, what it says and the item in question, line by line."""
    rows = []
    for line in table.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        left, _, text = line.partition("\t")
        said, _, about = left.partition(" ~")
        rows.append((text, [] if said == "-" else said.split("; "), about or None))
    return rows


def read_of(text: str, about: str | None) -> Understood:
    return understood(text, ITEMS, vocabulary=VOCABULARY, item_id=about, domain="headphones")


@pytest.mark.parametrize(("text", "said", "about"), sentences(TABLE))
def test_a_sentence_says_what_it_says(text: str, said: list[str], about: str | None) -> None:
    assert sorted(told(read_of(text, about))) == sorted(said)


def test_nothing_is_understood_that_was_not_said_and_little_is_missed() -> None:
    rows = [
        (said, told(read_of(text, about))) for table in (TABLE, UNSEEN, LATER) for text, said, about in sentences(table)
    ]
    right = sum(len(set(said) & set(found)) for said, found in rows)

    precision = right / sum(len(found) for _, found in rows)
    recall = right / sum(len(said) for said, _ in rows)

    assert precision == 1.0
    assert recall > 0.97
    assert len(rows) > 650


def test_what_is_said_of_somebody_else_is_told() -> None:
    assert read_of("My daughter likes red", None).about is About.ANOTHER
    assert read_of("My daughter and I like red", None).about is About.THE_PERSON


def test_a_value_that_is_not_shown_is_known_by_the_vocabulary() -> None:
    known = (Fact(dimension="colour", value="mauve"),)

    assert told(understood("no mauve", ITEMS, vocabulary=known)) == ["avoids colour=mauve"]


def test_a_vocabulary_of_thousands_is_searched_for_what_the_words_may_name() -> None:
    words = ("no", "value", "77", "comedies")
    many = [Fact(dimension="tag", value=f"value {n}") for n in range(3)] + [Fact(dimension="tag", value="other")]
    known = (*many, Fact(dimension="genre", value="Comedy"), Fact(dimension="genre", value="Ωmega"))

    assert [fact.value for fact in may_be_named(known, words)] == ["value 0", "value 1", "value 2", "Comedy", "Ωmega"]
