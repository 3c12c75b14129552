"""The chances of a list's candidates: of each by itself, and that none of them suits."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
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
        missing: the facts of which nothing is known; all facts of one item are the same part of it.
        share: of how much of the item nothing is known.
    """

    item: ItemFacts
    told: float
    missing: Missing

    share: float = field(init=False)

    def __post_init__(self) -> None:
        # Asked for a thousand times where a question is looked for.
        object.__setattr__(self, "share", _whole(fsum(self.missing.values())))

    def after(self, names: frozenset[str]) -> "Candidate":
        """The same candidate once it is known of some facts that they are fine."""
        if names.isdisjoint(self.missing):
            return self
        return Candidate(self.item, self.told, {name: part for name, part in self.missing.items() if name not in names})

    def refused(self) -> "Candidate":
        """The same candidate once it is known that the person avoids a fact of it."""
        return Candidate(self.item, AGAINST, self.missing)


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
    return max(AGAINST, candidate.told * power(candidate.share))


def none_suits(listed: Sequence[Candidate], power: Power, chances: Sequence[float] = ()) -> float:
    """How probable none of the candidates suits: what several of them have is fine for all of them or for none.

    Args:
        listed: the candidates.
        power: how probable something suits.
        chances: of each by itself, where they are known already.
    """
    chances = chances or [chance(each, power) for each in listed]
    best = max(chances, default=0.0)
    if not chances or best >= 1.0:
        return 0.0 if chances else 1.0
    ranked = sorted(range(len(listed)), key=lambda place: -chances[place])[:WEIGHED]
    able = [listed[place] for place in ranked if listed[place].told > AGAINST]
    some = fsum(
        (-1) ** (len(group) + 1) * prod(each.told for each in group) * power(share) for group, share in _joined(able)
    )
    # What was refused by word counts once: twenty such candidates are not twenty chances.
    return min(1.0, max(0.0, 1.0 - max(some, best)))


def _joined(able: Sequence[Candidate]) -> Iterator[tuple[tuple[Candidate, ...], float]]:
    """Every group of these candidates, with the share of which nothing is known: of facts that several have, once.

    Facts that the same candidates have are counted together: there are few such kinds, and many facts.
    """
    having: dict[str, list[int]] = {}
    for place, each in enumerate(able):
        for name in each.missing:
            having.setdefault(name, []).append(place)
    kinds = Counter(map(tuple, having.values()))
    parts = [next(iter(each.missing.values()), 0.0) for each in able]
    for size in range(1, len(able) + 1):
        for group in combinations(range(len(able)), size):
            inside = set(group)
            told = (
                times * max((parts[at] for at in kind if at in inside), default=0.0) for kind, times in kinds.items()
            )
            yield tuple(able[at] for at in group), _whole(fsum(told))


def _whole(share: float) -> float:
    return round(share, 6)
