"""DomainPrune (paper 2.2, Algorithm 1 line 4): the neighbours of a user that are worth reading.

Candidate-blind: neighbours depend on the memory, the neighbourhood and the date alone, and can be kept until one of
them changes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from operators.neighbourhood import ItemSignal, Neighbourhood
from operators.retrieve.graph import Graph
from operators.retrieve.quality import DEFAULT_LIMITS, RetrieveLimits
from operators.retrieve.rules import Signals, rule_for
from schemas import Memory, Taken, derived_id

MAX_CITATION = 258


@dataclass(frozen=True)
class ScoredItem:
    """An item that the user took, as a neighbour."""

    neighbour: str
    score: float
    signals: Signals
    taken: Taken
    told: ItemSignal | None
    attributes: frozenset[str]


@dataclass(frozen=True)
class ScoredUser:
    """Another user with common items, as a neighbour: a pseudonym, no word of theirs.

    Attributes:
        neighbour: how facets cite them.
        score: by the domain's rule; larger is closer.
        signals: what the rule saw.
        attributes: ids of the tastes that they are known to share with other takers.
    """

    neighbour: str
    score: float
    signals: Signals
    attributes: frozenset[str]


@dataclass(frozen=True)
class Neighbours:
    """The neighbours that were kept, best first."""

    items: tuple[ScoredItem, ...] = ()
    users: tuple[ScoredUser, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """All that a facet may cite."""
        return frozenset(item.neighbour for item in self.items) | {user.neighbour for user in self.users}


def domain_prune(
    memory: Memory, neighbourhood: Neighbourhood, domain: str, now: datetime, limits: RetrieveLimits = DEFAULT_LIMITS
) -> Neighbours:
    """The best 4 users, the best 6 items, and the best of all others up to 16; fewer where there are fewer."""
    rule = rule_for(domain)
    graph = Graph(memory, neighbourhood, now)
    items = [
        ScoredItem(
            item_neighbour(one.item_id), rule(seen), seen, one, graph.told.get(one.item_id), graph.facts[one.item_id]
        )
        for one, seen in zip(graph.taken, graph.item_signals(), strict=True)
    ]
    users = [
        ScoredUser(one.name, rule(seen), seen, frozenset(one.tastes))
        for one, seen in ((member, graph.user_signals(member)) for member in graph.members)
    ]
    return _select(items, users, limits)


def _select(items: Iterable[ScoredItem], users: Iterable[ScoredUser], limits: RetrieveLimits) -> Neighbours:
    best_items, best_users = sorted(items, key=_best_first), sorted(users, key=_best_first)
    sure: list[ScoredItem | ScoredUser] = [*best_users[: limits.min_users], *best_items[: limits.min_items]]
    others: list[ScoredItem | ScoredUser] = [*best_users[limits.min_users :], *best_items[limits.min_items :]]
    rest = sorted(others, key=_best_first)
    kept = {one.neighbour for one in [*sure, *rest[: limits.k - len(sure)]]}
    return Neighbours(
        tuple(one for one in best_items if one.neighbour in kept),
        tuple(one for one in best_users if one.neighbour in kept),
    )


def _best_first(one: ScoredItem | ScoredUser) -> tuple[float, str]:
    return -one.score, one.neighbour


def item_neighbour(item_id: str) -> str:
    """How facets cite an item; one with a very long id by a digest, because a citation is bounded.

    >>> item_neighbour("b1"), len(item_neighbour("b" * 256))
    ('item:b1', 21)
    """
    name = f"item:{item_id}"
    return name if len(name) <= MAX_CITATION else f"item:{derived_id(item_id)}"
