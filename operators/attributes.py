"""Attribute identity: kind, dimension and normalised value, never free text; and facts that are not yet lines."""

import re
import unicodedata
from collections.abc import Container, Iterable, Mapping
from functools import lru_cache
from typing import ClassVar, NamedTuple

from operators.unicode import nfkc
from schemas import (
    Attribute,
    AttributeKind,
    AttributeSource,
    Evidence,
    Fact,
    ItemFacts,
    PolicySkill,
    Tier,
    derived_id,
)
from schemas.skills import MAX_HYPOTHESES, HypothesisCounts

# Dimensions of ranking criteria, not of tastes (paper 2.3).
CRITERION_DIMENSIONS = frozenset({"era", "popularity", "rating", "year"})
# Dimensions with very many values, a few per item; with their plurals.
CREATORS = {"author": "authors", "director": "directors", "artist": "artists", "brand": "brands"}
MAX_ID_CHARS = 200
# Longer than any folded value: 120 characters, and NFKC turns one into 18 at most.
MAX_FOLDED_CHARS = 2_400
_BETWEEN_WORDS = re.compile(r"[^\w$+&#]+")


def normalise(text: str) -> str:
    """Normalise text to NFKC, casefolded, words joined by `-`.

    Only the first 2,400 characters count.

    >>> normalise("  Science Fiction "), normalise("C#"), normalise("€€")
    ('science-fiction', 'c#', '€€')
    """
    folded = nfkc(nfkc(text, MAX_FOLDED_CHARS).casefold(), MAX_FOLDED_CHARS)
    if not folded.isascii():
        folded = "".join(c if _in_a_word(c) else " " for c in folded)
        return "-".join(folded.split())
    return _BETWEEN_WORDS.sub("-", folded).strip("-")


def _in_a_word(character: str) -> bool:
    # Marks are the vowels of Hindi or Thai, symbols are emoji and currencies: without them, tastes would collide.
    if character.isascii():
        return character.isalnum() or character in "_$+&#"
    return character.isalnum() or unicodedata.category(character)[0] in "MNS"


@lru_cache(maxsize=65_536)
def attribute_id(kind: AttributeKind, dimension: str, value: str) -> str:
    """Return the permanent id of an attribute; truncation keeps it unique.

    >>> attribute_id(AttributeKind.PREFERENCE, "genre", "Science Fiction")
    'preference:genre:science-fiction'
    """
    return bounded_id(f"{kind.value}:{dimension}:{normalise(value) or derived_id(value)}")


def bounded_id(name: str) -> str:
    """Bound an id to 200 characters; a digest replaces the end."""
    return name if len(name) <= MAX_ID_CHARS else f"{name[: MAX_ID_CHARS - 17]}-{derived_id(name)}"


def _kind_of(dimension: str) -> AttributeKind:
    return AttributeKind.CRITERION if dimension in CRITERION_DIMENSIONS else AttributeKind.PREFERENCE


def fact_id(fact: Fact) -> str:
    """Return the id of the attribute for a fact."""
    return _fact_id(fact.dimension, fact.value)


def fact_ids(facts: Iterable[Fact]) -> tuple[str, ...]:
    """Return the ids of the attributes for these facts, in their order."""
    return _fact_ids(tuple(facts))


@lru_cache(maxsize=4_096)
def _fact_ids(facts: tuple[Fact, ...]) -> tuple[str, ...]:
    # Cached by item: a choice needs the ids of its whole list six times.
    return tuple([_fact_id(fact.dimension, fact.value) for fact in facts])


def fact_places(items: Iterable[ItemFacts]) -> dict[str, list[int]]:
    """Return the places of the items that have a fact, by its id.

    >>> one, two = (Fact(dimension="genre", value=value) for value in ("drama", "comedy"))
    >>> fact_places([ItemFacts(item_id="a", facts=(one,)), ItemFacts(item_id="b", facts=(one, two))])
    {'preference:genre:drama': [0, 1], 'preference:genre:comedy': [1]}
    """
    places: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        for name in dict.fromkeys(fact_ids(item.facts)):
            places.setdefault(name, []).append(place)
    return places


@lru_cache(maxsize=65_536)
def _fact_id(dimension: str, value: str) -> str:
    # By texts alone: an enum's hash and value are Python code, and a choice asks for a hundred ids.
    return attribute_id(_kind_of(dimension), dimension, value)


def from_fact(
    fact: Fact,
    tier: Tier,
    source: AttributeSource,
    *,
    counts: tuple[int, int] = (0, 0),
    support: int = 1,
    confirmed_at: int = 0,
    evidence: Evidence | None = None,
    proof: int = 0,
    quote: str = "",
) -> Attribute:
    """Make the attribute for a fact that a user likes."""
    return Attribute.trusted(
        attribute_id=fact_id(fact),
        kind=_kind_of(fact.dimension),
        dimension=fact.dimension,
        value=fact.value,
        tier=tier,
        source=source,
        taken=counts[0],
        expected=counts[1],
        support=support,
        confirmed_at=confirmed_at,
        evidence=(evidence,) if evidence else (),
        proof=proof,
        quote=quote,
    )


_FACT_ID = re.compile(r"(?:preference|criterion):([a-z][a-z0-9_]{0,39}):(\S.{0,119})")


def facts_of_ids(lines: Iterable[Attribute], *names: Iterable[str]) -> tuple[Fact, ...]:
    """Return the distinct facts of lines and of attribute ids.

    >>> facts_of_ids((), ["preference:genre:science-fiction", "pattern:price:cheaper"])
    (Fact(dimension='genre', value='science fiction'),)
    """
    known: dict[str, Fact] = {}
    for line in lines:
        if _FACT_ID.fullmatch(line.attribute_id):
            known.setdefault(line.attribute_id, Fact(dimension=line.dimension, value=line.value))
    for name in (each for some in names for each in some):
        if name not in known and (found := _FACT_ID.fullmatch(name)) is not None:
            known[name] = Fact(dimension=found[1], value=found[2].replace("-", " "))
    return tuple(known.values())


class _Counted(NamedTuple):
    attribute_id: str
    kind: AttributeKind
    dimension: str
    taken: int
    expected: int
    proof: int
    support: int


class Hypothesis(_Counted):
    """A fact without a proof of one nat.

    Its counts rank and bet as a silent line's do.
    """

    __slots__ = ()
    tier: ClassVar = Tier.SILENT
    source: ClassVar = AttributeSource.DISCOVERED
    pinned: ClassVar = False


RankedLine = Attribute | Hypothesis


def hypotheses_of(held: Mapping[str, HypothesisCounts]) -> list[Hypothesis]:
    """Return counts as lines."""
    return [Hypothesis(name, *_kind_and_dimension(name), *counts, int(counts[0] > 0)) for name, counts in held.items()]


@lru_cache(maxsize=65_536)
def _kind_and_dimension(name: str) -> tuple[AttributeKind, str]:
    is_criterion = name.startswith(AttributeKind.CRITERION.value)
    kind = AttributeKind.CRITERION if is_criterion else AttributeKind.PREFERENCE
    return kind, name.partition(":")[2].partition(":")[0]


def ranked_lines(skill: PolicySkill, among: Container[str] | None = None) -> tuple[RankedLine, ...]:
    """Return the lines of a skill and its hypotheses, which rank too; `among` limits the hypotheses."""
    held = skill.hypotheses
    if among is not None:
        held = {name: counts for name, counts in held.items() if name in among}
    return (*skill.attributes, *hypotheses_of(held)) if held else skill.attributes


def limit_hypotheses(held: Mapping[str, HypothesisCounts]) -> dict[str, HypothesisCounts]:
    """Drop the least taken hypotheses beyond the bound; of equals, the least expected and the oldest.

    >>> taken = {str(n): (1_024, n, 0) for n in range(MAX_HYPOTHESES - 1)}
    >>> kept = limit_hypotheses({"a": (0, 9, 0), "b": (0, 8, 0), **taken})
    >>> "a" in kept, "b" in kept
    (True, False)
    """
    order = sorted(held, key=lambda name: held[name][:2])
    gone = frozenset(order[: len(held) - MAX_HYPOTHESES])
    return {name: counts for name, counts in held.items() if name not in gone}
