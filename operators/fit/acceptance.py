"""The probability that a person accepts an item: a few chances, each with how well it explains their words so far.

An item of which nothing is known suits with some chance `U`. The more of its facts a person took or preferred before,
the fewer are left that could be against it: with a share `s` of them unknown it suits with `U ** s ** 0.5`. How large
`U` is differs from person to person, and is learned from what suited and what was refused.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import combinations
from math import exp, fsum, log, prod

from operators.attributes import fact_ids
from operators.fit.known import AGAINST, Known
from schemas import ONE, ItemFacts, PolicySkill, Statement
from schemas.fit import Beliefs

Power = Callable[[float], float]
"""How probable something suits of which this share of the facts is unknown."""
Missing = Mapping[str, float]
"""By attribute id: the share of the item that a fact is of which nothing is known."""

WEIGHED = 6
"""That none suits is told from so many candidates, the likeliest."""
CHANCES = (0.002, 0.016, 0.064, 0.125, 0.22, 0.36, 0.56, 0.81, 0.97)
"""The values that `U` may have."""
_PRIOR = (-2.2, -1.2, -0.4, 0.0, -0.4, -1.2, -2.2, -3.4, -4.6)
"""In nat. An item with one of three facts unknown suits with a chance of about a third at first."""
PRIOR: Beliefs = tuple(round(each * ONE) for each in _PRIOR)
LEAST = -16 * ONE
"""No chance is ruled out for good: a person may become less choosy."""
BENT = 0.5
"""The shape of that: one unknown fact beside known ones is less likely fine than its share says. What is still unknown
of somebody who has seen a lot was passed over mostly."""
WORTH = 0.5
"""What one list tells of the next: they show the same facts again, so that each is less than a new observation."""
_TINY = 1e-9


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
    """How probable none of the candidates suits: what several of them have is fine for all of them or for none."""
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


def learned(
    skill: PolicySkill,
    statements: Sequence[Statement],
    suited: Sequence[ItemFacts],
    refused: Sequence[ItemFacts],
    shown: Sequence[ItemFacts] = (),
) -> Beliefs | None:
    """What is believed once some items turned out to suit and others not to; None: nothing is known yet.

    What is known of the items' facts is what was known before: give the skill and the statements as they stood when
    the person said it. Nothing is believed of somebody who never refused anything, since those who take one of ten
    each time say nothing of whether others would do.

    Args:
        skill: before the event.
        statements: those that were live before it.
        suited: items that were taken, or of which the person said that they would do.
        refused: items that the person did not want; all of a list of which they took none.
        shown: what those that suited were picked from. Whoever picks for themselves tells that something suits, which
            is less than that a given thing does.
    """
    if skill.beliefs is None and not refused:
        return None
    known = Known.of(skill, statements)
    found = [each / ONE for each in started(skill.beliefs)]
    for items, suits in (((shown or suited) if suited else (), True), (refused, False)):
        listed = [each for each in candidates(items, known) if each.told == 1.0]
        # What is known throughout tells nothing of what is unknown.
        if not listed or not all(each.missing for each in listed):
            continue
        for place, chance in enumerate(CHANCES):
            none = none_suits(listed, partial(_at, chance))
            found[place] += WORTH * log(max(_TINY, 1.0 - none if suits else none))
    best = max(found)
    return tuple(max(LEAST, round((each - best) * ONE)) for each in found)


def started(beliefs: Beliefs | None) -> Beliefs:
    """The beliefs, or those about somebody of whom nothing is known; of another release's chances none are read."""
    return beliefs if beliefs is not None and len(beliefs) == len(PRIOR) else PRIOR


def power_of(beliefs: Beliefs | None) -> Power:
    """The chance that something suits, by the share of its facts that is unknown."""
    return partial(chance_of, started(beliefs))


@lru_cache(maxsize=16_384)
def chance_of(beliefs: Beliefs, share: float) -> float:
    """How probable an item suits of whose facts this share is unknown.

    >>> [round(chance_of(PRIOR, share), 2) for share in (0.0, 1 / 3, 1.0)]
    [1.0, 0.32, 0.16]
    """
    if not share:
        return 1.0
    weights = [exp(each / ONE) for each in beliefs]
    return fsum(weight * _at(chance, share) for weight, chance in zip(weights, CHANCES, strict=True)) / fsum(weights)


def _at(chance: float, share: float) -> float:
    return float(chance ** (share**BENT))
