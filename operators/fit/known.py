"""What is known of a person's view of an item's facts: what they took or prefer, and what they said they avoid."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from operators.attributes import fact_ids
from schemas import ItemFacts, PolicySkill, Stance, Statement


@dataclass(frozen=True, slots=True)
class Known:
    """What a skill and live statements tell of facts.

    Attributes:
        fine: attribute ids that the person took before, or prefers.
        avoided: by attribute id, the statement that avoids it.
        rest: statements about items and measures.
        shifted: the version at which the person's taste last changed; what was said before it is doubtful.
    """

    fine: frozenset[str]
    avoided: Mapping[str, Statement]
    rest: tuple[Statement, ...]
    shifted: int = 0

    @classmethod
    def of(cls, skill: PolicySkill, statements: Sequence[Statement]) -> "Known":
        """What these tell. Whoever took a fact, or asks for it, accepts it."""
        liked = {said.attribute_id for said in statements if said.stance is not Stance.AVOIDS and said.bound is None}
        taken = {line.attribute_id for line in skill.attributes if line.support}
        rest = tuple(said for said in statements if said.item_id is not None or said.bound is not None)
        avoided = {
            said.attribute_id: said
            for said in statements
            if said.stance is Stance.AVOIDS and said.item_id is None and said.bound is None
        }
        return cls(frozenset(liked | taken), avoided, rest, skill.shifted)

    def against(self, item: ItemFacts) -> list[Statement]:
        """The statements that are against an item, those that are in no doubt first."""
        facts = dict.fromkeys(fact_ids(item.facts))
        found = [self.avoided[name] for name in facts if name in self.avoided]
        found += [said for said in self.rest if breaks(item, said)]
        return sorted(found, key=self.is_doubtful)

    def is_doubtful(self, said: Statement) -> bool:
        """Whether the person's taste has changed since they said it."""
        return said.since < self.shifted

    def missing(self, item: ItemFacts) -> list[str]:
        """The item's facts of which nothing is known, as attribute ids."""
        return [name for name in dict.fromkeys(fact_ids(item.facts)) if self.says_nothing(name)]

    def says_nothing(self, name: str) -> bool:
        """Whether nothing is known of a fact."""
        return name not in self.fine and name not in self.avoided

    def used(self, items: Iterable[ItemFacts], statements: Iterable[Statement]) -> list[Statement]:
        """The statements that say something of at least one of the items."""
        items = list(items)
        facts = {name for item in items for name in fact_ids(item.facts)}
        return [
            said
            for said in statements
            if said.attribute_id in facts
            or said.over in facts
            or (said.item_id is not None and any(said.item_id == item.item_id for item in items))
            or (said.bound is not None and any(said.bound.measure in item.measures for item in items))
        ]


def breaks(item: ItemFacts, said: Statement) -> bool:
    """Whether a statement about an item or a measure is against this item; what was not measured breaks no bound."""
    if said.item_id is not None:
        return said.stance is Stance.AVOIDS and said.item_id == item.item_id
    if said.bound is None or (measured := item.measures.get(said.bound.measure)) is None:
        return False
    above, below = said.bound.above, said.bound.below
    inside = (above is None or measured > above) and (below is None or measured < below)
    return inside if said.stance is Stance.AVOIDS else not inside
