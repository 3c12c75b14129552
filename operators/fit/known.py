"""A person's known view of an item's facts: those that they took or prefer, and those that they avoid."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from operators.attributes import fact_ids
from operators.stated import speaks_against
from schemas import ItemFacts, PolicySkill, Stance, Statement

AGAINST = 0.02
"""The chance of an avoided item: the person may have erred, or changed their mind since."""
DOUBTFUL = 0.2
"""The same, if their taste has changed since the statement."""
REPLACED = 0.9
"""The same, if newer statements avoid as many other values of the dimension."""
FEW = 3
"""At least so many newer ones: one or two need not be all."""


@dataclass(frozen=True, slots=True)
class Known:
    """The view of facts from a skill and live statements.

    `fine` are attribute ids that the person took before, or prefers; `rest`, statements about items and measures.
    `newer` has, by dimension, the number of values avoided since the taste last changed (at version `shifted`), and
    `usual` is the most values of a dimension that the person avoids.
    """

    fine: frozenset[str]
    avoided: Mapping[str, Statement]
    rest: tuple[Statement, ...]
    shifted: int = 0
    newer: Mapping[str, int] = field(default_factory=dict)
    usual: int = 0

    @classmethod
    def of(cls, skill: PolicySkill, statements: Sequence[Statement]) -> "Known":
        """Build the view. Whoever took a fact, or asks for it, accepts it."""
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
        """Return the statements against an item, the surest first."""
        facts = list(dict.fromkeys(fact_ids(item.facts)))
        found = [self.avoided[name] for name in facts if name in self.avoided]
        found += [said for said in self.rest if speaks_against(said, item, facts)]
        return sorted(found, key=self.leaves)

    def leaves(self, said: Statement) -> float:
        """Return the chance that an item suits although this statement is against it.

        A taste that has changed is not a wider one: once a person avoids as many new values of a dimension as they ever
        avoided in any, older statements about it hardly hold any more. The item still ranks last until they take the
        statement back.
        """
        if said.since >= self.shifted:
            return AGAINST
        newer = self.newer.get(said.dimension, 0)
        return REPLACED if newer >= max(self.usual, FEW) else DOUBTFUL

    def missing(self, item: ItemFacts) -> list[str]:
        """Return the attribute ids of the item's unknown facts."""
        return [name for name in dict.fromkeys(fact_ids(item.facts)) if self.is_unknown(name)]

    def is_unknown(self, name: str) -> bool:
        """True if the person neither accepts nor avoids a fact."""
        return name not in self.fine and name not in self.avoided
