"""The gate of prompts and slim skills: words from outside pass only in a shape that cannot act.

A value of an item, a command or an import passes if it is in a closed vocabulary of our parsers, on the operator's
list, a short noun phrase or a name by its shape, or, if it is odd but no order, of several different items. Other
values are kept, and shown to people.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Final

from operators.attributes import fact_id, normalise
from operators.habit_directions import VALUES as HABITS
from operators.language.ports import OutputPolicy
from operators.prompts import as_data, visible
from operators.statinit import books, movietv, yelp
from schemas import MAX_EVIDENCE, Attribute, Facet, ItemFacts

# Values that parsers build.
_PATTERNS: Final = {
    "era": re.compile(r"before 1900|\d{3}0s"),
    "year": re.compile(r"\d{4} releases"),
    "price": re.compile(r"\${1,4}"),
    "area": re.compile(r"around -?\d{1,2}\.\d{2} -?\d{1,3}\.\d{2}"),
    "rating": re.compile(r"highly rated"),
}
MAX_CHARS: Final = 4_000_000
MAX_LINES: Final = 100_000
MAX_LINE_CHARS: Final = 200


def is_built_in(dimension: str, value: str) -> bool:
    """Return True if a value is one of a built-in parser for its dimension.

    >>> is_built_in("mood", "dark tone"), is_built_in("era", "1990s"), is_built_in("mood", "tell no one")
    (True, True, False)
    """
    pattern = _PATTERNS.get(dimension)
    return (dimension, value) in _labels() or (pattern is not None and pattern.fullmatch(value) is not None)


@cache
def _labels() -> frozenset[tuple[str, str]]:
    return HABITS | {(fact.dimension, fact.value) for module in (movietv, books, yelp) for fact in module.VOCABULARY}


class InvalidAllowList(ValueError):
    """The operator's list cannot be used."""


def parse_allow_list(text: str) -> frozenset[str]:
    r"""Read a list, one `value` or `dimension: value` a line; `#` begins a comment.

    Raises:
        BadList: it is too long, or a line has no word, is too long or has signs that nobody sees.

    >>> sorted(parse_allow_list("Must See\ntag: do-it-yourself\n# a comment\n"))
    ['must-see', 'tag: do-it-yourself']
    """
    if len(text) > MAX_CHARS:
        raise InvalidAllowList(f"it has more than {MAX_CHARS:,} characters")
    found: set[str] = set()
    # Not splitlines(): a line break that an editor does not show must not end a comment.
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.removesuffix("\r").strip(" \t")
        if not line or line.startswith("#"):
            continue
        if number > MAX_LINES:
            raise InvalidAllowList(f"it has more than {MAX_LINES:,} lines")
        if len(line) > MAX_LINE_CHARS or visible(line) != line:
            raise InvalidAllowList(
                f"line {number} is longer than {MAX_LINE_CHARS} characters, or holds one that nobody sees"
            )
        dimension, colon, value = line.partition(": ")
        name = normalise(value if colon else line)
        if not name:
            raise InvalidAllowList(f"line {number} has no word")
        found.add(f"{normalise(dimension)}: {name}" if colon else name)
    return frozenset(found)


# Different items that let an odd value out.
MIN_ITEMS: Final = MAX_EVIDENCE


class Rejection(StrEnum):
    """The reason to hold a value back, a metric's label."""

    UNKNOWN = "unknown"
    # A name with a verb: "Pick n Pay".
    NAME = "name"
    SIGNS = "signs"
    LONG = "long"
    WORDS = "words"
    DISGUISE = "disguise"
    ORDER = "order"


# Reasons against which no number of items helps, only the operator's list.
_FINAL: Final = (Rejection.LONG, Rejection.WORDS, Rejection.DISGUISE, Rejection.ORDER)


@dataclass(frozen=True)
class OutputGate:
    """The gate for values: `policy` judges their shape, `allow_list` has the values that the operator lists."""

    policy: OutputPolicy
    allow_list: frozenset[str] = field(default_factory=frozenset)

    def rejection(self, dimension: str, value: str, items: int = 0) -> Rejection | None:
        """Return the reason to hold a value back; None to let it out."""
        if is_built_in(dimension, value) or (why := self.policy.rejection(dimension, value)) is None:
            return None
        held = Rejection(why)
        return None if self._lists(dimension, value) or (items >= MIN_ITEMS and held not in _FINAL) else held

    def line_rejection(self, line: Attribute) -> Rejection | None:
        """Return the reason to hold a line back, counting the items among its evidence."""
        held = self.rejection(line.dimension, line.value)
        return held and self.rejection(line.dimension, line.value, self.evidence_items(line))

    @staticmethod
    def evidence_items(line: Attribute) -> int:
        """Return the number of different items in a line's evidence."""
        return len({one.item_id for one in line.evidence} - {None})

    def allows_dimension(self, dimension: str) -> bool:
        """Return True if a dimension can be named to a model."""
        return self.policy.is_phrase(dimension.replace("_", " "))

    def allowed_lines(self, lines: Iterable[Attribute]) -> list[Attribute]:
        """Return the lines with a tier that the gate lets out."""
        return [line for line in lines if line.tier and self.line_rejection(line) is None]

    def filter_items(self, items: Sequence[ItemFacts]) -> tuple[ItemFacts, ...]:
        """Return items with only the facts that a model may see; the number of these items that have one counts."""
        having = Counter(name for item in items for name in {fact_id(fact) for fact in item.facts})

        def shown(item: ItemFacts) -> ItemFacts:
            facts = item.facts
            kept = tuple(f for f in facts if self.rejection(f.dimension, f.value, having[fact_id(f)]) is None)
            return item if len(kept) == len(facts) else item.model_copy(update={"facts": kept})

        return tuple(map(shown, items))

    def _lists(self, dimension: str, value: str) -> bool:
        if not self.allow_list:
            return False
        name = normalise(value)
        return name in self.allow_list or f"{normalise(dimension)}: {name}" in self.allow_list


def drop_item_evidence(line: Attribute, gate: OutputGate) -> Attribute:
    """Keep the events behind an imported or reworded line, and drop their items if the value needs items to pass.

    Otherwise the items behind the old words would vouch for the author's new ones.
    """
    if gate.rejection(line.dimension, line.value) is None:
        return line
    events = tuple(each._replace(item_id=None) for each in line.evidence)
    return line.model_copy(update={"evidence": events})


OWN: Final = "drawn to "
NEAR: Final = "people with the same taste like "
# Ours, and that of a host with a profile.
_TEMPLATES: Final = (
    re.compile(rf"(?:{OWN}|{NEAR})(?P<value>.{{1,40}}) \((?P<dimension>[a-z0-9 ]{{1,40}})\)"),
    re.compile(r"(?:takes )?(?P<dimension>[a-z0-9_]{1,40}): (?P<value>.{1,60})"),
)
_VALUE_CHARS, _DIMENSION_CHARS = 40, 40


def fact_words(dimension: str, value: str) -> str:
    """Return a fact as a facet words it, in at most 83 characters.

    >>> fact_words("price_tier", "$$ | <b>")
    '$$ (b) (price tier)'
    """
    value = as_data(value, _VALUE_CHARS)
    dimension = as_data(dimension.replace("_", " "), _DIMENSION_CHARS)
    return f"{value} ({dimension})" if value and dimension else value


def facet_words(facet: Facet, gate: OutputGate, items: int = 0) -> str | None:
    """Return the words of a facet that a prompt may contain; None: none.

    An app writes its rankings, and so the facets in them. Words pass if they are our template about a value that the
    gate allows with this many `items`; else the template words the attribute that the facet names.
    """
    for template in _TEMPLATES:
        said = template.fullmatch(facet.facet)
        if said and gate.rejection(said["dimension"].replace(" ", "_"), said["value"], items) is None:
            return facet.facet
    # A value of the user's own items has its capitals: its id has nothing to add.
    if facet.attribute_id is None or (facet.facet.startswith(OWN) and _TEMPLATES[0].fullmatch(facet.facet)):
        return None
    _, _, rest = facet.attribute_id.partition(":")
    dimension, _, value = rest.partition(":")
    words = value.replace("-", " ")
    # An id has lost the capitals of names.
    if not normalise(words) or all(
        gate.rejection(dimension, said, items) is not None for said in (words, words.title())
    ):
        return None
    return f"{NEAR if facet.facet.startswith(NEAR) else OWN}{fact_words(dimension, words)}"


def trusted_facet_words(facet: Facet, gate: OutputGate) -> str | None:
    """Return the words of a facet that no app wrote: the items that it cites count."""
    return facet_words(facet, gate, sum(name.startswith("item:") for name in facet.supporting_neighbors))
