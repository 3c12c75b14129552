"""StatInit (paper 2.3, App. E): configured, built-in, plugged-in and generic parsers."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Final, cast

from operators.statinit import books, generic, movietv, yelp
from operators.statinit.measures import measures_of
from operators.statinit.text import description_of
from schemas import Candidate, Fact, ItemFacts
from schemas.items import MAX_EXCERPT

# Reads an item's facts: pure, never raises, at most `MAX_FACTS` distinct ones.
Parser = Callable[[Candidate], tuple[Fact, ...]]

# The entry point group of plug-in parsers.
ENTRY_POINTS: Final = "sager.domains"
# The entry point group of their vocabularies: facts that people may name before any item was seen.
VOCABULARIES: Final = "sager.vocabularies"
MAX_VOCABULARY: Final = 2_000
BUILT_IN: Final = {"yelp": yelp.parse, "books": books.parse, "movietv": movietv.parse, "generic": generic.parse}
CLOSED: Final = {"yelp": yelp.VOCABULARY, "books": books.VOCABULARY, "movietv": movietv.VOCABULARY}
# Domains that a built-in parser of another name reads.
ALIASES: Final[Mapping[str, str]] = {
    "places": "yelp",
    "restaurants": "yelp",
    "goodreads": "books",
    "amazon_books": "books",
    "movies": "movietv",
    "films": "movietv",
    "movielens": "movietv",
}


class UnknownParser(ValueError):
    """A configured parser that does not exist."""

    def __init__(self, domain: str, parser: str) -> None:
        super().__init__(
            f"domain {domain!r} is set to be read by the parser {parser!r}, which does not exist; "
            f"known: {', '.join(known_parsers())}. Install the package that offers it, or correct the setting."
        )


def parser_for(domain: str, overrides: Mapping[str, str]) -> Parser:
    """Return a domain's parser: override, built-in, plug-in, else generic.

    Raises:
        UnknownParser: an override names a parser that is neither built in nor installed.

    >>> parser_for("films", {}) is movietv.parse, parser_for("recipes", {}) is generic.parse
    (True, True)
    >>> parser_for("films", {"films": "generic"}) is generic.parse
    True
    """
    parser = overrides.get(domain, domain)
    found = BUILT_IN.get(ALIASES.get(parser, parser)) or cast("Parser | None", _load_plugin(ENTRY_POINTS, parser))
    if found is None and domain in overrides:
        raise UnknownParser(domain, parser)
    return found or generic.parse


def vocabulary_for(domain: str, overrides: Mapping[str, str]) -> tuple[Fact, ...]:
    """Return the closed vocabulary of a domain's parser.

    >>> Fact(dimension="genre", value="horror") in vocabulary_for("films", {}), vocabulary_for("recipes", {})
    (True, ())
    """
    parser = overrides.get(domain, domain)
    return CLOSED.get(ALIASES.get(parser, parser)) or _plugin_vocabulary(parser)


def known_parsers() -> tuple[str, ...]:
    """Return the names that an override may use."""
    return tuple(sorted({*BUILT_IN, *ALIASES, *(point.name for point in entry_points(group=ENTRY_POINTS))}))


def facts_of(candidate: Candidate, parser: Parser, *, with_excerpt: bool = False) -> ItemFacts:
    """Reduce an item to its name, its facts and its measures."""
    return ItemFacts(
        item_id=candidate.item_id,
        title=candidate.title,
        facts=parser(candidate),
        measures=measures_of(candidate),
        excerpt=excerpt_of(candidate) if with_excerpt else "",
    )


def excerpt_of(candidate: Candidate) -> str:
    """Return the beginning of an item's description, for models and quoted values."""
    words = " ".join(description_of(candidate)[: 2 * MAX_EXCERPT].split())
    return words if len(words) <= MAX_EXCERPT else words[:MAX_EXCERPT].rpartition(" ")[0]


@cache
def _plugin_vocabulary(parser: str) -> tuple[Fact, ...]:
    return tuple(cast("Iterable[Fact]", _load_plugin(VOCABULARIES, parser) or ()))[:MAX_VOCABULARY]


@cache
def _load_plugin(group: str, name: str) -> object:
    return next((point.load() for point in entry_points(group=group) if point.name == name), None)
