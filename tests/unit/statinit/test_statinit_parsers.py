from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

from operators.statinit import books, generic, movietv, parsers, yelp
from operators.statinit.parsers import UnknownParser, parser_for
from schemas import Candidate, Fact


@pytest.mark.parametrize(
    ("domain", "parser"),
    [
        *((domain, yelp.parse) for domain in ("yelp", "places", "restaurants")),
        *((domain, books.parse) for domain in ("books", "goodreads", "amazon_books")),
        *((domain, movietv.parse) for domain in ("movietv", "movies", "films", "movielens")),
        ("recipes", generic.parse),
    ],
)
def test_a_domain_finds_its_parser(domain: str, parser: parsers.Parser) -> None:
    assert parser_for(domain, {}) is parser


def test_an_override_without_a_parser_is_an_error_that_lists_those_there_are() -> None:
    with pytest.raises(UnknownParser, match=r"'wine'.*'vinos'.*books.*generic.*movietv.*yelp"):
        parser_for("wine", {"wine": "vinos"})


def parse_wine(candidate: Candidate) -> tuple[Fact, ...]:
    return (Fact(dimension="grape", value="assyrtiko"),)


@pytest.fixture
def _plugged_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    point = EntryPoint(name="wine", value=f"{__name__}:parse_wine", group=parsers.ENTRY_POINTS)
    monkeypatch.setattr(EntryPoint, "load", lambda _self: parse_wine)
    monkeypatch.setattr(parsers, "entry_points", lambda group: [point] if group == "sager.domains" else [])
    _forget()
    yield
    _forget()


def _forget() -> None:
    parsers._plugged_in.cache_clear()


@pytest.mark.usefixtures("_plugged_in")
def test_an_installed_package_plugs_in_its_domain() -> None:
    assert parser_for("wine", {}) is parse_wine
    assert parser_for("cellar", {"cellar": "wine"}) is parse_wine
    assert "wine" in parsers.known_parsers()
