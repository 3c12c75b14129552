"""The probability that a person accepts an item, from choices and refusals.

A wholly unknown item is accepted with probability `U`; with a share `s` of its facts unknown, with `U ** s ** 0.5`.
`U` differs between people, so a few values of it are weighed by their likelihood under the feedback so far.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import combinations
from math import exp, fsum, log, prod

from operators.attributes import fact_ids, ranked_lines
from operators.stated import live_statements, rejects
from schemas import ONE, Beliefs, Contrast, ItemFacts, PolicySkill, Stance, Statement

# The chance that an item suits, by the share of its facts that is unknown.
AcceptanceCurve = Callable[[float], float]

# `none_accepted` visits every subset of the candidates: 6 likely ones are 63 subsets, 10 would be 1,023.
MAX_JOINT = 6
# The values that `U` may have.
RATES = (0.002, 0.016, 0.064, 0.125, 0.22, 0.36, 0.56, 0.81, 0.97)
# Log-weights in nats. At first, an item with one of three facts unknown is accepted with probability 1/3.
PRIOR: Beliefs = tuple(round(each * ONE) for each in (-2.2, -1.2, -0.4, 0.0, -0.4, -1.2, -2.2, -3.4, -4.6))
# Never rule a rate out: a person may become less choosy.
MIN_BELIEF = -16 * ONE
# Below 1, because people leave most unknown facts: one beside known facts is riskier than its share suggests.
EXPONENT = 0.5
# Successive lists repeat facts, so one list counts as half an independent observation.
DISCOUNT = 0.5
_TINY = 1e-9
# The chance of an avoided item: the person may have erred, or changed their mind since.
AVOIDED_CHANCE = 0.02
# The same, if their taste has changed since the statement.
DOUBTFUL_CHANCE = 0.2
# The same, if newer statements avoid as many other values of the dimension.
REPLACED_CHANCE = 0.9
# Below three newer avoidances, the person may simply not have repeated the older ones yet.
MIN_NEWER = 3


@dataclass(frozen=True, slots=True)
class KnownFacts:
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
    def of(cls, skill: PolicySkill, statements: Sequence[Statement]) -> "KnownFacts":
        """Build the view; a user accepts facts that they took or prefer."""
        liked = {each.attribute_id for each in statements if each.stance is not Stance.AVOIDS and each.bound is None}
        taken = {line.attribute_id for line in ranked_lines(skill) if line.support}
        rest = tuple(each for each in statements if each.item_id is not None or each.bound is not None)
        of_facts = (each for each in statements if each.item_id is None and each.bound is None)
        avoided = {each.attribute_id: each for each in of_facts if each.stance is Stance.AVOIDS}
        newer = Counter(each.dimension for each in avoided.values() if each.since >= skill.shifted)
        older = Counter(each.dimension for each in avoided.values() if each.since < skill.shifted)
        usual = max((*newer.values(), *older.values()), default=0)
        return cls(frozenset(liked | taken), avoided, rest, skill.shifted, newer, usual)

    def objections(self, item: ItemFacts) -> list[Statement]:
        """Return the statements against an item, the surest first."""
        facts = list(dict.fromkeys(fact_ids(item.facts)))
        found = [self.avoided[name] for name in facts if name in self.avoided]
        found += [each for each in self.rest if rejects(each, item, facts)]
        return sorted(found, key=self.remaining_chance)

    def remaining_chance(self, statement: Statement) -> float:
        """Return the chance that an item suits despite this statement.

        A taste that has changed is not a wider one: once a person avoids as many new values of a dimension as they ever
        avoided in any, older statements about it hardly hold any more. The item still ranks last until they take the
        statement back.
        """
        if statement.since >= self.shifted:
            return AVOIDED_CHANCE
        newer = self.newer.get(statement.dimension, 0)
        return REPLACED_CHANCE if newer >= max(self.usual, MIN_NEWER) else DOUBTFUL_CHANCE

    def is_unknown(self, name: str) -> bool:
        """True if the person neither accepts nor avoids a fact."""
        return name not in self.fine and name not in self.avoided


@dataclass(frozen=True, slots=True)
class FitCandidate:
    """One candidate and the facts of it that are unknown.

    `stated_chance` is its chance by the statements alone: 1 if none rejects it. `unknown` has the share of each unknown
    fact in the item, by attribute id; all facts of an item have equal shares.
    """

    item: ItemFacts
    stated_chance: float
    unknown: Mapping[str, float]


def fit_candidates(items: Sequence[ItemFacts], known: KnownFacts) -> list[FitCandidate]:
    """Split each item of a list into its known and unknown parts."""
    found = []
    for item in items:
        stated_chance = max(AVOIDED_CHANCE, prod(known.remaining_chance(each) for each in known.objections(item)))
        # An item without facts is wholly unknown, and shares nothing with any other.
        names = dict.fromkeys(fact_ids(item.facts) or [item.item_id])
        unknown = [name for name in names if not item.facts or known.is_unknown(name)]
        found.append(FitCandidate(item, stated_chance, dict.fromkeys(unknown, 1 / len(names))))
    return found


def acceptance(candidate: FitCandidate, power: AcceptanceCurve) -> float:
    """Return the chance that one candidate suits."""
    if candidate.stated_chance <= AVOIDED_CHANCE:
        return AVOIDED_CHANCE
    share = round(fsum(candidate.unknown.values()), 6)
    return max(AVOIDED_CHANCE, candidate.stated_chance * power(share))


def none_accepted(listed: Sequence[FitCandidate], power: AcceptanceCurve, chances: Sequence[float] = ()) -> float:
    """Return the probability that no candidate is accepted; candidates share their facts."""
    chances = chances or [acceptance(each, power) for each in listed]
    best = max(chances, default=0.0)
    if not chances or best >= 1.0:
        return 0.0 if chances else 1.0
    ranked = sorted(range(len(listed)), key=lambda place: -chances[place])[:MAX_JOINT]
    able = [listed[place] for place in ranked if listed[place].stated_chance > AVOIDED_CHANCE]
    some = fsum(
        (-1) ** (len(group) + 1) * prod(each.stated_chance for each in group) * power(share)
        for group, share in _groups(able)
    )
    # Avoided candidates count once: twenty of them are not twenty chances.
    return min(1.0, max(0.0, 1.0 - max(some, best)))


def _groups(able: Sequence[FitCandidate]) -> Iterator[tuple[tuple[FitCandidate, ...], float]]:
    """Yield each group of candidates with its unknown share, shared facts once.

    Facts that the same candidates have are counted together: there are few such kinds, and many facts.
    """
    having: dict[str, list[int]] = {}
    for place, each in enumerate(able):
        for name in each.unknown:
            having.setdefault(name, []).append(place)
    kinds = Counter(map(tuple, having.values()))
    parts = [next(iter(each.unknown.values()), 0.0) for each in able]
    for size in range(1, len(able) + 1):
        for group in combinations(range(len(able)), size):
            inside = set(group)
            shares = (
                times * max((parts[at] for at in kind if at in inside), default=0.0) for kind, times in kinds.items()
            )
            yield tuple(able[at] for at in group), round(fsum(shares), 6)


def update_beliefs(
    skill: PolicySkill,
    statements: Sequence[Statement],
    suited: Sequence[ItemFacts],
    refused: Sequence[ItemFacts],
    shown: Sequence[ItemFacts] = (),
) -> Beliefs | None:
    """Update the beliefs with accepted and refused items; None before any refusal.

    Skill and statements are those before the event. `shown` is the list from which the accepted items were picked: a
    pick proves only that some item of the list suits.
    """
    if skill.beliefs is None and not refused:
        return None
    known = KnownFacts.of(skill, statements)
    found = [each / ONE for each in _beliefs_or_prior(skill.beliefs)]
    for items, suits in (((shown or suited) if suited else (), True), (refused, False)):
        listed = [each for each in fit_candidates(items, known) if each.stated_chance == 1.0]
        # A list without unknown facts is no evidence about them.
        if not listed or not all(each.unknown for each in listed):
            continue
        for place, value in enumerate(RATES):
            none = none_accepted(listed, partial(_rate_at, value))
            found[place] += DISCOUNT * log(max(_TINY, 1.0 - none if suits else none))
    best = max(found)
    return tuple(max(MIN_BELIEF, round((each - best) * ONE)) for each in found)


def beliefs_after_choice(skill: PolicySkill, contrast: Contrast) -> Beliefs | None:
    """Update the beliefs with a choice; None before any refusal."""
    statements = live_statements(skill, contrast.occurred_at, contrast.session_id)
    taken = (contrast.chosen, *contrast.also)
    return update_beliefs(skill, statements, taken, (), shown=(*taken, *contrast.unchosen))


def _beliefs_or_prior(beliefs: Beliefs | None) -> Beliefs:
    return beliefs if beliefs is not None and len(beliefs) == len(PRIOR) else PRIOR


def acceptance_curve(beliefs: Beliefs | None) -> AcceptanceCurve:
    """Return the acceptance as a function of the unknown share."""
    return partial(mean_acceptance, _beliefs_or_prior(beliefs))


@lru_cache(maxsize=16_384)
def mean_acceptance(beliefs: Beliefs, share: float) -> float:
    """Return the acceptance of an item with this share of unknown facts.

    >>> [round(mean_acceptance(PRIOR, share), 2) for share in (0.0, 1 / 3, 1.0)]
    [1.0, 0.32, 0.16]
    """
    if not share:
        return 1.0
    weights = [exp(each / ONE) for each in beliefs]
    return fsum(weight * _rate_at(value, share) for weight, value in zip(weights, RATES, strict=True)) / fsum(weights)


def _rate_at(value: float, share: float) -> float:
    return float(value ** (share**EXPONENT))
