"""Simulated people who choose by hidden policies.

A person wants a few facts and chooses by softmax over the sums of their weights; the traveller weighs price against
time. The history comes from an earlier
phase with only part of the wants: the prior can find that part, and only the evolution the rest.
"""

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from operators.attributes import fact_id
from operators.learning.number_lines import number_line_id
from operators.statinit.measures import measures_of
from schemas import Candidate, Domain, Fact, ItemId, Tier, UserId

FactsOf = Callable[[Candidate], tuple[Fact, ...]]  # called at every choice, so a cache pays
Catalogue = Mapping[str, Sequence[Candidate]]

SLATE = 10  # candidates per choice: the paper's N
# A rarer fact is seldom on offer, so choices could not show the want.
MIN_ITEMS = 4
# Without a wide first want, most choices would be noise. A want of over a third of the items is no distinction.
WIDE_SHARE, MAX_SHARE = 0.1, 1 / 3
# Share of the rarer want's items. With more, choices could not separate the two wants.
MAX_OVERLAP = 0.5
WEIGHTS = (3.0, 2.0, 1.5, 1.0)
# A perfect model of the policy is then right in about two thirds of the choices.
TEMPERATURES = (0.35, 0.55)
COSTS = {"price": 0.1, "length": 0.05}


@dataclass(frozen=True, slots=True)
class Want:
    """A fact that a person likes; `early`: already during their history."""

    fact: Fact
    weight: float
    early: bool = False


@dataclass(frozen=True, slots=True)
class Person:
    """A simulated user of one domain; `temperature` is noise in weight units."""

    user_id: UserId
    domain: Domain
    wants: tuple[Want, ...]
    temperature: float
    # The weight that one more of a number takes away.
    costs: Mapping[str, float] = field(default_factory=dict)

    def choose(self, items: Sequence[Candidate], facts_of: FactsOf, rng: random.Random) -> Candidate:
        """Take one of these items."""
        utilities = [utility(self.wants, facts_of(item)) - self._cost(item) for item in items]
        best = max(utilities, default=0.0)
        return rng.choices(items, [math.exp((u - best) / self.temperature) for u in utilities])[0]

    def agreement(self, learned: Mapping[str, Tier]) -> float:
        """Return the weighted share of the policy learned at medium or high."""
        policy = self.policy()
        found = sum(weight for name, weight in policy.items() if learned.get(name, Tier.LOW) >= Tier.MEDIUM)
        return found / sum(policy.values())

    def policy(self) -> dict[str, float]:
        """Return the weights of the lines that a perfect skill has, by their ids."""
        wanted = {fact_id(want.fact): want.weight for want in self.wants}
        return wanted | {number_line_id(name, more=False): cost for name, cost in self.costs.items()}

    def _cost(self, item: Candidate) -> float:
        amounts = measures_of(item) if self.costs else {}
        return sum(cost * amounts[name] for name, cost in self.costs.items())


def utility(wants: Iterable[Want], facts: Iterable[Fact]) -> float:
    """Sum the weights of the wants among these facts."""
    present = {fact_id(fact) for fact in facts}
    return sum(want.weight for want in wants if fact_id(want.fact) in present)


def items_by_fact(items: Iterable[Candidate], facts_of: FactsOf) -> dict[Fact, frozenset[ItemId]]:
    """Map every fact of these items to the items that have it."""
    found: dict[Fact, set[ItemId]] = {}
    for item in items:
        for fact in facts_of(item):
            found.setdefault(fact, set()).add(item.item_id)
    return {fact: frozenset(ids) for fact, ids in found.items()}


def simulate(n_people: int, seed: int, catalogue: Catalogue, facts_of: FactsOf) -> list[Person]:
    """Create people with hidden policies, the domains in turn."""
    domains = list(catalogue)
    offers = {domain: _eligible_facts(catalogue[domain], facts_of) for domain in domains}
    return [
        _person(i, domain, offers[domain], len(catalogue[domain]), random.Random(f"{seed}:{i}"))  # noqa: S311
        for i in range(n_people)
        for domain in [domains[i % len(domains)]]
    ]


def traveller(number: int) -> Person:
    """Return the person who takes a cheaper train, unless it costs time."""
    return Person(UserId(f"person-{number:03d}"), Domain("trains"), (), TEMPERATURES[0], COSTS)


def history(person: Person, catalogue: Catalogue, facts_of: FactsOf, rng: random.Random, n: int) -> list[Candidate]:
    """Choose distinct items by the early wants, oldest first."""
    earlier = replace(person, wants=tuple(want for want in person.wants if want.early))
    later = [want for want in person.wants if not want.early]
    # An item with a later want could show it to the prior, and nothing would be left to discover.
    left = [item for item in catalogue[person.domain] if not utility(later, facts_of(item))]
    taken = []
    for _ in range(n):
        item = earlier.choose(rng.sample(left, min(SLATE, len(left))), facts_of, rng)
        left.remove(item)
        taken.append(item)
    return taken


def _eligible_facts(items: Sequence[Candidate], facts_of: FactsOf) -> dict[Fact, frozenset[ItemId]]:
    max_items = MAX_SHARE * len(items)
    return {f: ids for f, ids in items_by_fact(items, facts_of).items() if MIN_ITEMS <= len(ids) <= max_items}


def _person(i: int, domain: str, offer: Mapping[Fact, frozenset[ItemId]], n_items: int, rng: random.Random) -> Person:
    facts = _pick_wants(offer, WIDE_SHARE * n_items, rng.choice((3, 4)), rng)
    early = set(rng.sample(facts, len(facts) // 2))
    wants = tuple(Want(fact, weight, fact in early) for fact, weight in zip(facts, WEIGHTS, strict=False))
    rng.randrange(3)  # unused, but without this draw the same seeds would give other people
    return Person(UserId(f"person-{i + 1:03d}"), Domain(domain), wants, round(rng.uniform(*TEMPERATURES), 3))


def _pick_wants(
    offer: Mapping[Fact, frozenset[ItemId]], wide_from: float, n_wants: int, rng: random.Random
) -> list[Fact]:
    """Pick distinct facts of different dimensions, the first of them wide."""
    wide = [fact for fact, ids in offer.items() if len(ids) >= wide_from]
    if not wide:
        raise ValueError("no fact of the catalogue is shared by enough items")
    facts = [rng.choice(wide)]
    # Dimensions first: otherwise the many authors would crowd out the few price tiers.
    dimensions = sorted({fact.dimension for fact in offer})
    for dimension in rng.sample(dimensions, len(dimensions)):
        free = [f for f, ids in offer.items() if f.dimension == dimension and _is_distinct(f, ids, facts, offer)]
        if free:
            facts.append(rng.choice(free))
    if len(facts) < n_wants:
        raise ValueError(f"the catalogue has fewer than {n_wants} distinct facts of different dimensions")
    return facts[:n_wants]


def _is_distinct(
    fact: Fact, ids: frozenset[ItemId], facts: Sequence[Fact], offer: Mapping[Fact, frozenset[ItemId]]
) -> bool:
    return all(
        fact.dimension != other.dimension and len(ids & offer[other]) <= MAX_OVERLAP * min(len(ids), len(offer[other]))
        for other in facts
    )
