"""What may be let out to models and apps: words from outside are data in a shape that cannot act.

A value of an item, a command or an import goes into a slim skill or a prompt only if something vouches for it: a closed
vocabulary of our parsers, the operator's list, its shape, or, for what is odd but no
order, several different items. What is held back is kept, and shown to people. It rests on nothing that
recognises attacks: operators.privacy does that, beside it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Final

from operators.attributes import fact_id, normalise
from operators.habits.axes import VALUES as HABITS
from operators.language.ports import OutputPolicy
from operators.prompts import as_data, visible
from operators.statinit import books, movietv, yelp
from schemas import MAX_EVIDENCE, Attribute, Facet, Fact, ItemFacts

_PATTERNS: Final = {
    "era": re.compile(r"before 1900|\d{3}0s"),
    "year": re.compile(r"\d{4} releases"),
    "price": re.compile(r"\${1,4}"),
    "area": re.compile(r"around -?\d{1,2}\.\d{2} -?\d{1,3}\.\d{2}"),
    "rating": re.compile(r"highly rated"),
}
"""What parsers build by themselves."""
MAX_CHARS: Final = 4_000_000
MAX_LINES: Final = 100_000
MAX_LINE_CHARS: Final = 200


def is_closed(dimension: str, value: str) -> bool:
    """Whether this is one of the values that a built-in parser has for a dimension, however it came here.

    >>> is_closed("mood", "dark tone"), is_closed("era", "1990s"), is_closed("mood", "tell no one")
    (True, True, False)
    """
    pattern = _PATTERNS.get(dimension)
    return (dimension, value) in _labels() or (pattern is not None and pattern.fullmatch(value) is not None)


@cache
def _labels() -> frozenset[tuple[str, str]]:
    return HABITS | {(fact.dimension, fact.value) for module in (movietv, books, yelp) for fact in module.VOCABULARY}


class BadList(ValueError):
    """The operator's list cannot be used."""


def listed(text: str) -> frozenset[str]:
    r"""The values of a list, one a line: `value`, or `dimension: value` for one dimension alone; `#` begins a comment.

    Raises:
        BadList: it is too long, or a line has no word, is too long or has signs that nobody sees.

    >>> sorted(listed("Must See\ntag: do-it-yourself\n# a comment\n"))
    ['must-see', 'tag: do-it-yourself']
    """
    if len(text) > MAX_CHARS:
        raise BadList(f"it has more than {MAX_CHARS:,} characters")
    found: set[str] = set()
    # Not splitlines(): a line break that an editor does not show must not end a comment.
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.removesuffix("\r").strip(" \t")
        if not line or line.startswith("#"):
            continue
        if number > MAX_LINES:
            raise BadList(f"it has more than {MAX_LINES:,} lines")
        if len(line) > MAX_LINE_CHARS or visible(line) != line:
            raise BadList(f"line {number} is longer than {MAX_LINE_CHARS} characters, or holds one that nobody sees")
        dimension, colon, value = line.partition(": ")
        name = normalise(value if colon else line)
        if not name:
            raise BadList(f"line {number} has no word")
        found.add(f"{normalise(dimension)}: {name}" if colon else name)
    return frozenset(found)


LEAST_ITEMS: Final = MAX_EVIDENCE


class Held(StrEnum):
    """Why a value is held back: a metric's label."""

    UNKNOWN = "unknown"
    NAME = "name"
    """A name with a verb: "Pick n Pay"."""
    SIGNS = "signs"
    LONG = "long"
    WORDS = "words"
    DISGUISE = "disguise"
    ORDER = "order"
    UNLISTED = "unlisted"
    """A phrase by its shape, where shapes do not vouch."""

    @property
    def for_good(self) -> bool:
        """Return True if no number of items helps, only the operator's list."""
        return self in (Held.LONG, Held.WORDS, Held.DISGUISE, Held.ORDER)


@dataclass(frozen=True)
class Vouching:
    """What vouches for values.

    Attributes:
        policy: judges values by their shape.
        listed: what the operator vouches for, as `listed` reads it: normal forms of values, or of `dimension: value`.
        least_items: how many different items behind a line vouch for an odd value; 1 to 3, since a line keeps the last
            three choices as its evidence.
        by_shape: a short noun phrase or a name vouches for itself.
    """

    policy: OutputPolicy
    listed: frozenset[str] = field(default_factory=frozenset)
    least_items: int = LEAST_ITEMS
    by_shape: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.least_items <= LEAST_ITEMS:
            raise ValueError(f"least_items must be 1 to {LEAST_ITEMS}, not {self.least_items}")

    def held(self, dimension: str, value: str, items: int = 0) -> Held | None:
        """Why a value is not let out; None if something vouches for it."""
        held = self._by_itself(dimension, value)
        if held is None and not self.by_shape and not is_closed(dimension, value):
            held = Held.UNLISTED
        if held is None or self._lists(dimension, value) or (items >= self.least_items and not held.for_good):
            return None
        return held

    def of_line(self, line: Attribute) -> Held | None:
        """The same for a line of a skill, of which the items among its evidence are counted."""
        return self.held(line.dimension, line.value, self.items_of(line))

    @staticmethod
    def items_of(line: Attribute) -> int:
        """On how many different items a line's evidence has seen what it says."""
        return len({one.item_id for one in line.evidence} - {None})

    def names(self, dimension: str) -> bool:
        """Return True if a dimension can be named to a model."""
        return self.policy.is_phrase(dimension.replace("_", " "))

    def let_out(self, lines: Iterable[Attribute]) -> list[Attribute]:
        """The lines that say something and for which something vouches, in their order."""
        # Nearly every line vouches for itself by its shape: of those nobody counts the items.
        return [
            line
            for line in lines
            if line.tier
            and ((self.by_shape and self._by_itself(line.dimension, line.value) is None) or self.of_line(line) is None)
        ]

    def of_items(self, items: Sequence[ItemFacts]) -> tuple[ItemFacts, ...]:
        """Items with only those facts that may be shown to a model; how many of these items have one counts."""
        having = Counter(name for item in items for name in {fact_id(fact) for fact in item.facts})
        return tuple(self._shown(item, having) for item in items)

    def _shown(self, item: ItemFacts, having: Counter[str]) -> ItemFacts:
        kept = tuple(fact for fact in item.facts if self._vouches(fact, having[fact_id(fact)]))
        return item if len(kept) == len(item.facts) else item.model_copy(update={"facts": kept})

    def _vouches(self, fact: Fact, items: int) -> bool:
        return self.held(fact.dimension, fact.value, items) is None

    def _by_itself(self, dimension: str, value: str) -> Held | None:
        """Return why neither a closed vocabulary nor its shape vouches for a value."""
        if is_closed(dimension, value):
            return None
        held = self.policy.held(dimension, value)
        return None if held is None else Held(held)

    def _lists(self, dimension: str, value: str) -> bool:
        if not self.listed:
            return False
        name = normalise(value)
        return name in self.listed or f"{normalise(dimension)}: {name}" in self.listed


class _PassAll:
    """A policy that holds nothing back."""

    def held(self, dimension: str, value: str) -> str | None:
        return None

    def is_phrase(self, text: str) -> bool:
        return True

    def is_plain(self, text: str) -> bool:
        return True


EVERYTHING: Final = Vouching(_PassAll())
"""For verifiers, which do not know the gate that a worker had at an older version."""


def without_count(line: Attribute, gate: Vouching) -> Attribute:
    """Keep the events behind an imported or reworded line, and drop their items if the value needs items to pass.

    Otherwise the items behind the old words would vouch for the author's new ones.
    """
    if gate.held(line.dimension, line.value) is None:
        return line
    events = tuple(each.model_copy(update={"item_id": None}) for each in line.evidence)
    return line.model_copy(update={"evidence": events})


OWN: Final = "drawn to "
NEAR: Final = "people with the same taste like "
_TEMPLATES: Final = (
    re.compile(rf"(?:{OWN}|{NEAR})(?P<value>.{{1,40}}) \((?P<dimension>[a-z0-9 ]{{1,40}})\)"),
    re.compile(r"(?:takes )?(?P<dimension>[a-z0-9_]{1,40}): (?P<value>.{1,60})"),
)
"""Ours, and that of a host with a profile."""
_MAX_PHRASE: Final = 16
_VALUE_CHARS, _DIMENSION_CHARS = 40, 40


def in_words(dimension: str, value: str) -> str:
    """A fact as a facet says it: one safe line of at most 83 characters.

    >>> in_words("price_tier", "$$ | <b>")
    '$$ (b) (price tier)'
    """
    value = as_data(value, _VALUE_CHARS)
    dimension = as_data(dimension.replace("_", " "), _DIMENSION_CHARS)
    return f"{value} ({dimension})" if value and dimension else value


def told(facet: Facet, gate: Vouching) -> str | None:
    """What a prompt may say of a facet, whoever wrote it; None: nothing.

    An app writes its rankings, and so the facets in them. Words are let through where they are our template about a
    value for which something vouches; else the attribute that the facet names is told by the template.

    """
    return _vouched(facet, gate, items=0)


def _vouched(facet: Facet, gate: Vouching, items: int) -> str | None:
    """The facet's text that the gate allows, with `items` items behind its value; None if it allows none."""
    for template in _TEMPLATES:
        said = template.fullmatch(facet.facet)
        if said and gate.held(said["dimension"].replace(" ", "_"), said["value"], items) is None:
            return facet.facet
    # A value of the user's own items has its capitals: its id has nothing to add.
    if facet.attribute_id is None or (facet.facet.startswith(OWN) and _TEMPLATES[0].fullmatch(facet.facet)):
        return None
    _, _, rest = facet.attribute_id.partition(":")
    dimension, _, value = rest.partition(":")
    words = value.replace("-", " ")
    # An id has lost the capitals of names.
    if not normalise(words) or all(gate.held(dimension, said, items) is not None for said in (words, words.title())):
        return None
    return f"{NEAR if facet.facet.startswith(NEAR) else OWN}{in_words(dimension, words)}"


def worded(facet: Facet, gate: Vouching) -> str | None:
    """As `told`, for a facet that no app wrote: a model's own words pass if they are a phrase of plain English.

    A model's words come from text that a prompt may show, and from titles, which may contain anything. Our template
    quotes an item's value, which must pass the gate of a skill's lines, with the items that the facet cites as its
    evidence.

    """
    text = facet.facet
    is_ours = any(template.fullmatch(text) for template in _TEMPLATES)
    if not is_ours and text.isascii() and len(text.split()) <= _MAX_PHRASE and gate.policy.is_plain(text.rstrip(".!")):
        return text
    return _vouched(facet, gate, sum(name.startswith("item:") for name in facet.supporting_neighbors))
