"""The gate: which values may be let out to models and apps, and why the others are not."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from operators.attributes import fact_id, normalise
from operators.language.ports import OutputPolicy
from operators.vouch.lists import is_closed
from schemas import MAX_EVIDENCE, Attribute, Fact, ItemFacts

LEAST_ITEMS: Final = MAX_EVIDENCE


class Held(StrEnum):
    """Why a value is held back: a metric's label."""

    UNKNOWN = "unknown"
    LONG = "long"
    SIGNS = "signs"
    WORDS = "words"
    DISGUISE = "disguise"
    ORDER = "order"
    UNLISTED = "unlisted"
    """A phrase by its shape, where shapes do not vouch."""

    @property
    def for_good(self) -> bool:
        """Return True if no number of items helps, only the operator's list."""
        return self not in (Held.UNKNOWN, Held.SIGNS, Held.UNLISTED)


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
