"""What tells who somebody is or what is nobody's business goes, by class; what only looks so stays."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from operators.privacy import OFF
from sager_language.personal import Category
from sager_language.personal.sensitive import of_fact
from schemas import Candidate, Facet, Injected, ItemFacts, Ranking
from streams.materializer.rows import read
from streams.privacy import DEFAULT
from streams.privacy import DEFAULT as PRIVACY
from tests.builders import NOW
from tests.unit.materializer.materializer_builders import record

HERE = Path(__file__).parent


def rows(name: str) -> Iterator[list[str]]:
    for row in (HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if not row.startswith("#"):
            yield row.split("|")


CLASSES: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
for _kind, _channel, _text, _never in rows("personal"):
    CLASSES[_kind].append((_channel, _text, _never))
CHANNELS: dict[str, list[str]] = defaultdict(list)
for _channel, _text in rows("innocent"):
    CHANNELS[_channel].append(_text)


def is_kept(channel: str, text: str, never: str) -> bool:
    if channel == "fact":
        return DEFAULT.refuses("books", "taste", text) is None
    kept = (
        DEFAULT.redact(text, "books").text
        if channel == "req"
        else DEFAULT.redact_about_person(text, "books", 2_000).text
    )
    return any(part.casefold() in kept.casefold() for part in never.split(";"))


@pytest.mark.parametrize("kind", CLASSES)
def test_nothing_of_this_class_is_kept(kind: str) -> None:
    assert [text for channel, text, never in CLASSES[kind] if is_kept(channel, text, never)] == []


def changed(channel: str, text: str) -> bool:
    if channel == "title":
        return DEFAULT.item(ItemFacts(item_id="i", title=text), "books")[0].title != text
    if channel == "req":
        return DEFAULT.redact(text, "books").text != text
    return DEFAULT.refuses("books", {"name": "director", "command": "taste"}.get(channel, channel), text) is not None


@pytest.mark.parametrize("channel", CHANNELS)
def test_what_only_looks_private_stays_as_it_is(channel: str) -> None:
    assert [text for text in CHANNELS[channel] if changed(channel, text)] == []


DISGUISES = {
    "separators": "4111{0}1111{0}1111{0}1111",
    "grapheme joiner": "I am dia\u034fbetic",
    "variation selectors": "I am dia\ufe00betic",
    "other digits": "\u0664\u0661\u0661\u0661" + 3 * " \u0661\u0661\u0661\u0661",
    "wide at": "anna\uff20example.org",
}


@pytest.mark.parametrize("how", DISGUISES)
def test_no_disguise_lets_it_through(how: str) -> None:
    signs = " ./_-:~\u00b7\u2013*x," if how == "separators" else " "

    assert [sign for sign in signs if not DEFAULT.redact(DISGUISES[how].format(sign), "films").found] == []


@pytest.mark.parametrize(
    ("dimension", "value", "category"),
    [
        ("genre", "cancer memoir", None),
        ("category", "christian living", Category.RELIGION),
        ("genre", "christian rock", None),
        ("category", "gay bars", Category.SEXUALITY),
        ("genre", "gay romance", Category.SEXUALITY),
        ("cuisine", "halal", None),
        ("genre", "politics", None),
        ("politics", "the usual marches", Category.POLITICS),
        ("genre", "novels for diabetics", Category.HEALTH),
        ("taste", "votes for the greens", Category.POLITICS),
        ("taste", "keeps kosher", Category.RELIGION),
    ],
)
def test_a_fact_about_a_thing_is_about_the_thing(dimension: str, value: str, category: Category | None) -> None:
    assert of_fact(dimension, value) is category


FACETS = (
    Facet(facet="drawn to noir", confidence=0.5),
    Facet(facet="mail anna@example.org", confidence=0.5),
    Facet(facet="drawn to films about their own lupus", confidence=0.5),
    Facet(facet="a person of taste", confidence=0.5, attribute_id="preference:phone:+49-151-23456789"),
)
INJECTED = Injected(facets=FACETS, slim_skill="likes noir; takes lithium", arm="anna@example.org")


def test_what_an_app_injects_passes_the_same_filter() -> None:
    kept = DEFAULT.injected(INJECTED, "films")

    assert [facet.facet for facet in kept.facets] == ["drawn to noir"]
    assert (kept.slim_skill, kept.arm) == ("likes noir; takes [health]", None)
    assert OFF.injected(INJECTED, "films") == INJECTED


def test_no_row_holds_what_was_injected_raw() -> None:
    ranking = Ranking(
        event_id="r", occurred_at=NOW, ranking_id="r", user_id="u", domain="films",
        candidates=(Candidate(item_id="a"),), injected=INJECTED,
    )  # fmt: skip
    put = read(record(ranking), privacy=PRIVACY)

    assert not any(secret in repr(put) for secret in ("anna@", "lithium", "lupus", "23456789"))
