"""DomainPrune (paper 2.2, Algorithm 1 line 4): the neighbours of a user that are worth reading.

Candidate-blind: neighbours depend on the memory, the neighbourhood and the date alone, and can be kept until one of
them changes.
"""

from dataclasses import dataclass
from datetime import datetime

from operators.neighbourhood import Neighbourhood
from operators.retrieve.graph import Graph
from operators.retrieve.rules import rule_for
from schemas import Fact, Memory, derived_id

MOST, LEAST_USERS, LEAST_ITEMS = 16, 4, 6
"""Most neighbours, and how many of each kind are kept in any case."""
MAX_CITATION = 258


@dataclass(frozen=True)
class Neighbour:
    """An item that the user took, or another user, of whom there is a pseudonym and no word.

    Attributes:
        name: the name by which facets cite it.
        score: by the domain's rule; larger is closer.
        attributes: ids of the item's facts, or of the tastes that the user is known to share with other takers.
        facts: the item's facts.
    """

    name: str
    score: float
    attributes: frozenset[str]
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class Neighbours:
    """The neighbours that were kept, best first."""

    items: tuple[Neighbour, ...] = ()
    users: tuple[Neighbour, ...] = ()


def domain_prune(memory: Memory, neighbourhood: Neighbourhood, domain: str, now: datetime) -> Neighbours:
    """Return the best 4 users, the best 6 items, and the best of all others up to 16."""
    rule = rule_for(domain)
    graph = Graph(memory, neighbourhood, now)
    items = [
        Neighbour(item_neighbour(one.item_id), rule(signals), graph.facts[one.item_id], one.facts)
        for one, signals in zip(graph.taken, graph.item_signals(), strict=True)
    ]
    users = [Neighbour(one.name, rule(graph.user_signals(one)), frozenset(one.tastes)) for one in graph.members]
    items.sort(key=_best_first)
    users.sort(key=_best_first)
    sure = [*users[:LEAST_USERS], *items[:LEAST_ITEMS]]
    others = sorted([*users[LEAST_USERS:], *items[LEAST_ITEMS:]], key=_best_first)
    kept = {one.name for one in (*sure, *others[: MOST - len(sure)])}
    return Neighbours(tuple(one for one in items if one.name in kept), tuple(one for one in users if one.name in kept))


def _best_first(one: Neighbour) -> tuple[float, str]:
    return -one.score, one.name


def item_neighbour(item_id: str) -> str:
    """The name by which facets cite an item; a long id becomes a digest, because a citation is bounded.

    >>> item_neighbour("b1"), len(item_neighbour("b" * 256))
    ('item:b1', 21)
    """
    name = f"item:{item_id}"
    return name if len(name) <= MAX_CITATION else f"item:{derived_id(item_id)}"
