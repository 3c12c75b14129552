"""A contrast, counted before any reasoning: the chosen facts, those that others share, and new ones."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from operators.attributes import fact_ids
from schemas import Contrast, Fact, PolicySkill

TELLING = ("genre", "category", "director", "author", "mood", "ambience", "qualifier", "price", "meal", "rating", "era")
"""Dimensions in which a single choice is most informative, most informative first; the others follow."""
_PLACES = {dimension: place for place, dimension in enumerate(TELLING)}
MAX_OFFERED = 12
"""How many of the chosen item's facts, the most informative ones, a model is offered for discovery."""
MOST = 0.5
"""A fact that more than this share of the items left have does not set the chosen one apart."""


@dataclass(frozen=True)
class Choice:
    """A contrast, counted.

    Attributes:
        facts: the chosen item's facts by attribute id, in the parser's order.
        seen: how many unchosen items have a fact, by attribute id; for all facts of theirs.
        share: the share of the unchosen items that have a fact, for those of the chosen item.
        spoken: attribute ids that the community's facets name.
    """

    facts: Mapping[str, Fact]
    seen: Mapping[str, int]
    share: Mapping[str, float]
    spoken: frozenset[str]

    @classmethod
    def of(cls, contrast: Contrast) -> "Choice":
        """Count a contrast."""
        facts = dict(zip(fact_ids(contrast.chosen.facts), contrast.chosen.facts, strict=True))
        seen = Counter(chain.from_iterable(set(fact_ids(item.facts)) for item in contrast.unchosen))
        others = len(contrast.unchosen) or 1
        share = {name: seen.get(name, 0) / others for name in facts}
        spoken = frozenset(facet.attribute_id for facet in contrast.facets if facet.attribute_id is not None)
        return cls(facts, seen, share, spoken)

    def telling(self) -> list[str]:
        """The chosen item's facts, the most informative first.

        By dimension; in a dimension those that the community's facets name, then those that fewest others have.
        """

        def key(name: str) -> tuple[int, bool, float]:
            place = _PLACES.get(self.facts[name].dimension, len(_PLACES))
            return place, name not in self.spoken, self.share[name]

        return sorted(self.facts, key=key)

    def offered(self) -> list[str]:
        """The facts that a model is asked about, the most informative first."""
        return self.telling()[:MAX_OFFERED]

    def news(self, skill: PolicySkill) -> list[str]:
        """The offered facts that no line of the skill covers and most unchosen items lack."""
        held = {attribute.attribute_id for attribute in skill.attributes}
        return [name for name in self.offered() if name not in held and self.share[name] <= MOST]
