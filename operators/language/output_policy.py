"""The gate of prompts and slim skills: words that cannot act.

A value passes if a built-in parser or the operator lists it, if it has the shape of a short noun phrase or a name, or
if it is odd but harmless and several items have it. Rejected values are kept, and shown to people.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Final

from operators.attributes import fact_id, normalise
from operators.habit_directions import BY_PREFIX, NUMBER_ENDING, NUMBER_WORDS
from operators.habit_directions import VALUES as HABITS
from operators.language.ports import OutputPolicy
from operators.prompts import as_data, visible
from operators.statinit import books, movietv, yelp
from schemas import MAX_EVIDENCE, Attribute, Facet, ItemFacts, is_answer_style

# Values that parsers build from numbers.
_PATTERNS: Final = {
    "era": re.compile(r"before 1900|\d{3}0s"),
    "year": re.compile(r"\d{4} releases"),
    "price": re.compile(r"\${1,4}"),
    "area": re.compile(r"around -?\d{1,2}\.\d{2} -?\d{1,3}\.\d{2}"),
    "rating": re.compile(r"highly rated"),
}

MAX_LINE_CHARS: Final = 200


def is_built_in(dimension: str, value: str) -> bool:
    """Return True if a built-in parser or type has this value for its dimension.

    >>> is_built_in("mood", "dark tone"), is_built_in("era", "1990s"), is_built_in("mood", "tell no one")
    (True, True, False)
    """
    pattern = _PATTERNS.get(dimension)
    if is_answer_style(dimension, value):
        return True
    return (dimension, value) in _labels() or (pattern is not None and pattern.fullmatch(value) is not None)


@cache
def _labels() -> frozenset[tuple[str, str]]:
    numbers = {(f"by_{name}", each + NUMBER_ENDING) for name, both in NUMBER_WORDS.items() for each in both}
    return (
        HABITS
        | numbers
        | {(fact.dimension, fact.value) for module in (movietv, books, yelp) for fact in module.VOCABULARY}
    )


class InvalidAllowList(ValueError):
    """The operator's list cannot be used."""


def parse_allow_list(text: str) -> frozenset[str]:
    r"""Read a list: `value` or `dimension: value` per line, and `#` comments.

    Raises InvalidAllowList for a line that is too long, has no word, or has invisible characters.

    >>> sorted(parse_allow_list("Must See\ntag: do-it-yourself\n# a comment\n"))
    ['must-see', 'tag: do-it-yourself']
    """
    found: set[str] = set()
    # Not splitlines(): a line break that an editor does not show must not end a comment.
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.removesuffix("\r").strip(" \t")
        if not line or line.startswith("#"):
            continue
        if len(line) > MAX_LINE_CHARS or visible(line) != line:
            raise InvalidAllowList(f"line {number} has more than {MAX_LINE_CHARS} characters, or an invisible one")
        dimension, colon, value = line.partition(": ")
        name = normalise(value if colon else line)
        if not name:
            raise InvalidAllowList(f"line {number} has no word")
        found.add(f"{normalise(dimension)}: {name}" if colon else name)
    return frozenset(found)


# This many different items allow an odd value.
MIN_ITEMS: Final = MAX_EVIDENCE


class Rejection(StrEnum):
    """The reason to reject a value, a metric's label."""

    UNKNOWN = "unknown"
    # A name with a verb: "Pick n Pay".
    NAME = "name"
    SIGNS = "signs"
    LONG = "long"
    WORDS = "words"
    DISGUISE = "disguise"
    ORDER = "order"


# Only the operator's list overrides these reasons.
_FINAL: Final = (Rejection.LONG, Rejection.WORDS, Rejection.DISGUISE, Rejection.ORDER)


@dataclass(frozen=True)
class OutputGate:
    """The gate for values; `policy` judges shapes, `allow_list` overrides it."""

    policy: OutputPolicy
    allow_list: frozenset[str] = field(default_factory=frozenset)

    def rejection(self, dimension: str, value: str, items: int = 0) -> Rejection | None:
        """Return the reason to reject a value with this many items."""
        if is_built_in(dimension, value):
            return None
        if dimension.startswith(BY_PREFIX):  # our own words around the name of a number
            value = value.removesuffix(NUMBER_ENDING)
        if (why := self.policy.rejection(dimension, value)) is None:
            return None
        rejection = Rejection(why)
        if items >= MIN_ITEMS and rejection not in _FINAL:
            return None
        # Most deployments have no list: do not normalise for them.
        if self.allow_list and not self.allow_list.isdisjoint(
            (name := normalise(value), f"{normalise(dimension)}: {name}")
        ):
            return None
        return rejection

    def line_rejection(self, line: Attribute) -> Rejection | None:
        """Return the reason to reject a line with its evidence."""
        rejection = self.rejection(line.dimension, line.value)
        return rejection and self.rejection(line.dimension, line.value, self.count_evidence_items(line))

    @staticmethod
    def count_evidence_items(line: Attribute) -> int:
        """Return the number of different items in a line's evidence."""
        return len({one.item_id for one in line.evidence} - {None})

    def allowed_lines(self, lines: Iterable[Attribute]) -> list[Attribute]:
        """Return the lines with a tier that the gate allows."""
        return [line for line in lines if line.tier and self.line_rejection(line) is None]

    def filter_items(self, items: Sequence[ItemFacts]) -> tuple[ItemFacts, ...]:
        """Return items with only the allowed facts; these items count as evidence."""
        having = Counter(name for item in items for name in {fact_id(fact) for fact in item.facts})

        def shown(item: ItemFacts) -> ItemFacts:
            facts = item.facts
            kept = tuple(f for f in facts if self.rejection(f.dimension, f.value, having[fact_id(f)]) is None)
            return item if len(kept) == len(facts) else item.model_copy(update={"facts": kept})

        return tuple(map(shown, items))


def drop_item_evidence(line: Attribute, gate: OutputGate) -> Attribute:
    """Drop items as support of a line's new words."""
    if gate.rejection(line.dimension, line.value) is None:
        return line
    events = tuple(each._replace(item_id=None) for each in line.evidence)
    return line.model_copy(update={"evidence": events})


OWN: Final = "drawn to "
NEAR: Final = "people with the same taste like "
# Our own template, and the one of hosts with a profile.
_TEMPLATES: Final = (
    re.compile(rf"(?:{OWN}|{NEAR})(?P<value>.{{1,40}}) \((?P<dimension>[a-z0-9 ]{{1,40}})\)"),
    re.compile(r"(?:takes )?(?P<dimension>[a-z0-9_]{1,40}): (?P<value>.{1,60})"),
)
_VALUE_CHARS, _DIMENSION_CHARS = 40, 40


def fact_words(dimension: str, value: str) -> str:
    """Return a fact in a facet's words, at most 83 characters.

    >>> fact_words("price_tier", "$$ | <b>")
    '$$ (b) (price tier)'
    """
    value = as_data(value, _VALUE_CHARS)
    dimension = as_data(dimension.replace("_", " "), _DIMENSION_CHARS)
    return f"{value} ({dimension})" if value and dimension else value


def facet_words(facet: Facet, gate: OutputGate, items: int = 0) -> str | None:
    """Return the words of a facet that a prompt may show.

    Apps write facets in their rankings. Their words pass if they fit our template with an allowed value; otherwise the
    template words the attribute that the facet names.
    """
    for template in _TEMPLATES:
        match = template.fullmatch(facet.facet)
        if match and gate.rejection(match["dimension"].replace(" ", "_"), match["value"], items) is None:
            return facet.facet
    # Facets of own items keep their capitals, so their id adds nothing.
    if facet.attribute_id is None or (facet.facet.startswith(OWN) and _TEMPLATES[0].fullmatch(facet.facet)):
        return None
    _, _, rest = facet.attribute_id.partition(":")
    dimension, _, value = rest.partition(":")
    words = value.replace("-", " ")
    # An id has lost the capitals of names.
    if not normalise(words) or all(
        gate.rejection(dimension, spelling, items) is not None for spelling in (words, words.title())
    ):
        return None
    return f"{NEAR if facet.facet.startswith(NEAR) else OWN}{fact_words(dimension, words)}"


def trusted_facet_words(facet: Facet, gate: OutputGate) -> str | None:
    """Return the words of our own facet; the cited items count."""
    return facet_words(facet, gate, sum(name.startswith("item:") for name in facet.supporting_neighbors))
