"""What is known of a person's view of an item's facts: what they took or prefer, and what they said they avoid."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from operators.attributes import fact_ids
from operators.stated import speaks_against
from schemas import ItemFacts, PolicySkill, Stance, Statement

AGAINST = 0.02
"""The chance of what a person said they do not want: they may have erred, or changed their mind since."""
DOUBTFUL = 0.2
"""The same, where their taste has changed since they said it."""
REPLACED = 0.9
"""The same, where they have said since of as many other values that they do not want them."""
FEW = 3
"""So many newer ones of a dimension at least: of one or two nobody knows whether they were all."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a skill and live statements tell of facts.

    Attributes:
        fine: attribute ids that the person took before, or prefers.
        avoided: by attribute id, the statement that avoids it.
        rest: statements about items and measures.
        shifted: the version at which the person's taste last changed; what was said before it is doubtful.
        newer: in each dimension, how many values are avoided since then.
        usual: how many values of a dimension the person avoids, as far as known.
    """

    fine: frozenset[str]
    avoided: Mapping[str, Statement]
    rest: tuple[Statement, ...]
    shifted: int = 0
    newer: Mapping[str, int] = field(default_factory=dict)
    usual: int = 0

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
        newer = Counter(said.dimension for said in avoided.values() if said.since >= skill.shifted)
        older = Counter(said.dimension for said in avoided.values() if said.since < skill.shifted)
        usual = max((*newer.values(), *older.values()), default=0)
        return cls(frozenset(liked | taken), avoided, rest, skill.shifted, newer, usual)

    def against(self, item: ItemFacts) -> list[Statement]:
        """The statements that may be against an item, the surest first."""
        facts = list(dict.fromkeys(fact_ids(item.facts)))
        found = [self.avoided[name] for name in facts if name in self.avoided]
        found += [said for said in self.rest if speaks_against(said, item, facts)]
        return sorted(found, key=self.leaves)

    def leaves(self, said: Statement) -> float:
        """How probable what a statement is against suits all the same.

        A taste that has changed is not a wider one. Once a person told of a dimension what they do not want now, and
        that is as much as they ever avoided in any, what they said of it before hardly holds any more. It is against an
        item all the same: until they take it back, it stands behind all others.
        """
        if said.since >= self.shifted:
            return AGAINST
        newer = self.newer.get(said.dimension, 0)
        return REPLACED if newer >= max(self.usual, FEW) else DOUBTFUL

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
