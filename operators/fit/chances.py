"""The chances of a list's candidates: of each by itself, and that none of them suits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import fsum, prod

from operators.attributes import fact_ids
from operators.fit.known import AGAINST, Known
from schemas import ItemFacts

Power = Callable[[float], float]
"""How probable something suits of which this share of the facts is unknown."""
Missing = Mapping[str, float]
"""By attribute id: the share of the item that a fact is of which nothing is known."""

WEIGHED = 6
"""That none suits is told from so many candidates, the likeliest."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What decides whether one candidate suits.

    Attributes:
        item: the candidate.
        told: the chance that what is known leaves it: 1 where nothing is against it.
        missing: the facts of which nothing is known.
    """

    item: ItemFacts
    told: float
    missing: Missing

    def after(self, fine: frozenset[str], avoided: frozenset[str]) -> "Candidate":
        """The same candidate once more is known of some facts."""
        kept = {name: share for name, share in self.missing.items() if name not in fine and name not in avoided}
        against = not avoided.isdisjoint(self.missing)
        return Candidate(self.item, AGAINST if against else self.told, kept)


def candidates(items: Sequence[ItemFacts], known: Known) -> list[Candidate]:
    """What is known of each item of a list."""
    found = []
    for item in items:
        told = max(AGAINST, prod(known.leaves(said) for said in known.against(item)))
        part = 1 / len(set(fact_ids(item.facts))) if item.facts else 1.0
        # An item without facts is wholly unknown, and shares nothing with any other.
        missing = known.missing(item) if item.facts else [item.item_id]
        found.append(Candidate(item, told, dict.fromkeys(missing, part)))
    return found


def chance(candidate: Candidate, power: Power) -> float:
    """How probable one candidate suits."""
    if candidate.told <= AGAINST:
        return AGAINST
    return max(AGAINST, candidate.told * power(_share(candidate.missing)))


def none_suits(listed: Sequence[Candidate], power: Power) -> float:
    """How probable none of the candidates suits: what several of them have is fine for all of them or for none."""
    ranked = sorted(listed, key=lambda each: -chance(each, power))[:WEIGHED]
    chances = [chance(each, power) for each in ranked]
    if not chances or max(chances) >= 1.0:
        return 0.0 if chances else 1.0
    able = [each for each in ranked if each.told > AGAINST]
    some = fsum(
        (-1) ** (size + 1) * prod(each.told for each in group) * power(_share(_joined(group)))
        for size in range(1, len(able) + 1)
        for group in combinations(able, size)
    )
    # What was refused by word counts once: twenty such candidates are not twenty chances.
    return min(1.0, max(0.0, 1.0 - max(some, *chances)))


def _joined(group: Sequence[Candidate]) -> dict[str, float]:
    joined: dict[str, float] = {}
    for name, share in chain.from_iterable(each.missing.items() for each in group):
        joined[name] = max(share, joined.get(name, 0.0))
    return joined


def _share(missing: Missing) -> float:
    return round(fsum(missing.values()), 6)
