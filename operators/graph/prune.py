"""DomainPrune (paper 2.2, Algorithm 1 line 4): a user's closest neighbours.

Neighbours depend on memory, neighbourhood and date alone, never on candidates, so they can be cached. The papers leave
these signals open:
- An item's edge is recency rank times 1 + ln(times taken), scaled to 1; a user's is overlap / degree.
- Days run from the last taking of the item, or of any shared item.
- Metadata is the share of the item's facts among the user's `tastes`; for users, the overlap coefficient of tastes,
with a denominator of at least 2, because one shared taste is no match.
- An item's similarity is its title's to the nearest other title, which finds series; a user's is the cosine of tastes.
"""

# ruff: noqa: PLR2004 - the numbers of MemRec's rules need no names

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from operators.attributes import fact_id, normalise
from operators.graph.items import tastes
from operators.graph.neighbours import Crowd, ItemSignal, Neighbourhood
from operators.statinit import ALIASES
from schemas import Fact, Memory, TakenItem, derived_id

# The limit of neighbours, and the number of each kind that is always kept.
MAX_NEIGHBOURS, MIN_USERS, MIN_ITEMS = 16, 4, 6
MAX_CITATION = 258
MAX_USER_POOL = 50
# MemRec's constants for unknown overlaps.
UNKNOWN_ITEM_OVERLAP, UNKNOWN_USER_OVERLAP = 0.5, 0.0
MIN_TASTES = 2

_DAY_SECONDS = 86_400
_LITTLE_WORDS = frozenset(
    "a an and at by de der die das el for from in la le les los of on or the to und with y".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class PruneSignals:
    """A rule's input for a taken item or another user.

    `metadata` is the overlap with the user's tastes, `co_count` the number of other takers or of shared items, `days`
    the edge's age. Only `generic` reads `degree`, a share of the largest of its kind.
    """

    is_item: bool
    edge: float
    metadata: float
    co_count: int
    similarity: float
    days: float
    degree: float = 0.0


Rule = Callable[[PruneSignals], float]


def books(s: PruneSignals) -> float:
    """Decay slowly; count shared authors and genres most, then popular texts."""
    score = s.edge
    if s.metadata > 0.6:
        score *= 2.5
    if s.co_count > 3:
        score *= 1.8
        if s.similarity > 0.5:
            score *= 1.5
    if s.days > 180:
        score *= math.exp(-0.004 * s.days)
    return score * (1 + (1.2 if s.is_item else 0.8) * s.similarity)


def goodreads(s: PruneSignals) -> float:
    """Count series most; popular books have weak edges but social weight."""
    edge, social, content = s.edge, 1.0, 1 + s.similarity
    if s.co_count > 10:
        social, content = 2.0, 1 + 1.5 * s.similarity
    if s.co_count > 15:
        edge, social = edge * 0.7, social * 1.5
    series = 3.0 if s.metadata > 0.8 else 1.0
    decay = math.exp(-0.002 * s.days) if s.days > 365 else 1.0
    return edge * social * content * series * decay


def movietv(s: PruneSignals) -> float:
    """Decay fast after two months; use metadata where few took it."""
    crowded = s.co_count >= 3
    decay = 1.0 if s.days <= 60 else math.exp((-0.018 if s.days <= 180 else -0.025) * s.days)
    edge = s.edge * (2.5 if crowded else 1.0) * decay * (0.3 if s.days > 365 else 1.0)
    stand_in = 1.0 if crowded else 2.8 * s.metadata
    content = 1 + (1.8 if crowded else 1.5) * s.similarity
    return (edge + stand_in) * content * (1.5 if s.metadata > 0.6 else 1.0)


def yelp(s: PruneSignals) -> float:
    """Require the same categories and city; decay fastest."""
    score = s.edge * (2.0 if s.co_count >= 2 else 0.5)
    if s.metadata > 0.85:
        score *= 4.5
    elif s.metadata > 0.7:
        score *= 3.5
    elif s.metadata < 0.4:
        score *= 0.2
    score *= 1 + (2.2 if s.metadata > 0.7 else 1.0) * s.similarity
    if s.days > 90:
        score *= math.exp(-0.028 * s.days)
    return score * (0.5 if s.days > 180 else 1.0)


def generic(s: PruneSignals) -> float:
    """Score by recency and popularity, users at half weight."""
    if s.is_item:
        return 0.5 * s.edge + 0.3 * s.degree
    return 0.5 * (0.7 * s.edge + 0.3 * s.degree)


# MemRec's rules by domain. `goodreads` shares the parser of `books` but has its own rule.
RULES: Final[Mapping[str, Rule]] = {rule.__name__: rule for rule in (books, goodreads, movietv, yelp, generic)}


def rule_for(domain: str) -> Rule:
    """Return a domain's rule, by name or by its parser's alias.

    >>> rule_for("goodreads") is goodreads, rule_for("films") is movietv, rule_for("recipes") is generic
    (True, True, True)
    """
    return RULES.get(domain) or RULES.get(ALIASES.get(domain, domain), generic)


@dataclass
class CoTaker:
    """Another taker, collected over all `shared` items."""

    latest: Crowd
    shared: int = 0
    tastes: set[str] = field(default_factory=set)


class UserGraph:
    """A user's part of the graph, with shared values computed once."""

    def __init__(self, memory: Memory, neighbourhood: Neighbourhood, now: datetime) -> None:
        self.taken = taken = memory.taken
        self._takers = Counter({signal.item_id: signal.takers for signal in neighbourhood.signals})
        self._now = now
        self.facts = {one.item_id: frozenset(fact_id(fact) for fact in one.facts) for one in taken}
        self.members = _members(neighbourhood.signals)
        self._most = frozenset(tastes(taken))
        self._counts = Counter(name for names in self.facts.values() for name in names)
        self._words = [frozenset(normalise(one.title).split("-")) - _LITTLE_WORDS - {""} for one in taken]
        self._largest_crowd = max(self._takers.values(), default=0)
        self._largest_degree = max((member.latest.degree for member in self.members), default=0)

    def item_signals(self) -> list[PruneSignals]:
        """Return the signals of each taken item."""
        edges = [rank / len(self.taken) * (1 + math.log(one.times)) for rank, one in enumerate(self.taken, 1)]
        return [
            PruneSignals(
                is_item=True,
                edge=edges[place] / max(edges),
                metadata=self._item_overlap(one),
                co_count=self._takers[one.item_id],
                similarity=self._title_similarity(place),
                days=self._days(one.at),
                degree=_share(self._takers[one.item_id], self._largest_crowd),
            )
            for place, one in enumerate(self.taken)
        ]

    def user_signals(self, member: CoTaker) -> PruneSignals:
        """Return the signals of another user."""
        degree = member.latest.degree
        return PruneSignals(
            is_item=False,
            # A stored degree is bounded like a memory, so it may be smaller than the overlap.
            edge=member.shared / max(degree, member.shared),
            metadata=self._user_overlap(member.tastes),
            co_count=member.shared,
            similarity=self._taste_similarity(member.tastes),
            days=self._days(member.latest.at),
            degree=_share(degree, self._largest_degree),
        )

    def _days(self, at: datetime) -> float:
        return max(0.0, (self._now - at).total_seconds() / _DAY_SECONDS)

    def _item_overlap(self, item: TakenItem) -> float:
        names = self.facts[item.item_id]
        if not names or not self._most:
            return UNKNOWN_ITEM_OVERLAP
        return len(names & self._most) / len(names)

    def _user_overlap(self, other_tastes: Collection[str]) -> float:
        if not other_tastes or not self._most:
            return UNKNOWN_USER_OVERLAP
        return len(self._most & set(other_tastes)) / max(MIN_TASTES, min(len(other_tastes), len(self._most)))

    def _title_similarity(self, place: int) -> float:
        others = (words for other, words in enumerate(self._words) if other != place)
        return max((_cosine(self._words[place], words) for words in others), default=0.0)

    def _taste_similarity(self, other_tastes: Collection[str]) -> float:
        length = math.sqrt(sum(count * count for count in self._counts.values()) * len(other_tastes))
        return min(1.0, sum(self._counts[name] for name in other_tastes) / length) if length else 0.0


def _members(signals: Iterable[ItemSignal]) -> list[CoTaker]:
    members: dict[str, CoTaker] = {}
    for signal in signals:
        supported: dict[str, set[str]] = {}
        for taste in signal.tastes:
            for name in taste.neighbours:
                supported.setdefault(name, set()).add(taste.attribute_id)
        crowd = {one.neighbour: one for one in signal.crowd if one.neighbour.startswith("user:")}
        for name, one in crowd.items():
            member = members.setdefault(name, CoTaker(one))
            member.latest = max(member.latest, one, key=lambda each: (each.at, each.degree))
            member.shared += 1
            member.tastes |= supported.get(name, set())
    return sorted(members.values(), key=lambda member: (-member.shared, member.latest.neighbour))[:MAX_USER_POOL]


def _cosine(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / math.sqrt(len(one) * len(other)) if one and other else 0.0


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


@dataclass(frozen=True)
class Neighbour:
    """A taken item or a pseudonymous user; larger scores are closer."""

    name: str
    score: float
    attributes: frozenset[str]
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class Neighbours:
    """The kept neighbours, best first."""

    items: tuple[Neighbour, ...] = ()
    users: tuple[Neighbour, ...] = ()


def domain_prune(memory: Memory, neighbourhood: Neighbourhood, domain: str, now: datetime) -> Neighbours:
    """Return the best 4 users, 6 items, and others up to 16."""
    rule = rule_for(domain)
    graph = UserGraph(memory, neighbourhood, now)
    items = [
        Neighbour(cite_item(one.item_id), rule(signals), graph.facts[one.item_id], one.facts)
        for one, signals in zip(graph.taken, graph.item_signals(), strict=True)
    ]
    users = [
        Neighbour(one.latest.neighbour, rule(graph.user_signals(one)), frozenset(one.tastes)) for one in graph.members
    ]

    def best_first(ones: Iterable[Neighbour]) -> list[Neighbour]:
        return sorted(ones, key=lambda one: (-one.score, one.name))

    items, users = best_first(items), best_first(users)
    guaranteed = [*users[:MIN_USERS], *items[:MIN_ITEMS]]
    others = best_first([*users[MIN_USERS:], *items[MIN_ITEMS:]])
    kept = {one.name for one in (*guaranteed, *others[: MAX_NEIGHBOURS - len(guaranteed)])}
    return Neighbours(tuple(one for one in items if one.name in kept), tuple(one for one in users if one.name in kept))


def cite_item(item_id: str) -> str:
    """Return the name by which facets cite an item, or its digest."""
    name = f"item:{item_id}"
    return name if len(name) <= MAX_CITATION else f"item:{derived_id(item_id)}"
