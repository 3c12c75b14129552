"""A ranking task for a model, and its result: always a permutation of the candidates."""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from schemas import Facet, ItemFacts, Provenance
from schemas.events import MAX_CANDIDATES


@dataclass(frozen=True)
class RankTask:
    """One list to rank by a model, each candidate once.

    `companions` score by item id, from 0 to 1, how often others took it with the user's items. `lately` has taken
    titles, newest first, for hosts that rank by titles. The seed decides presentation orders and ties.
    """

    items: Sequence[ItemFacts]
    instruction: str = ""
    facets: Sequence[Facet] = ()
    companions: Mapping[str, float] = field(default_factory=dict)
    slim_skill: str = ""
    lately: Sequence[str] = ()
    seed: str = ""

    def __post_init__(self) -> None:
        if not len({item.item_id for item in self.items}) == len(self.items) <= MAX_CANDIDATES:
            raise ValueError(f"items must be at most {MAX_CANDIDATES} different candidates")


@dataclass(frozen=True)
class LlmRanking:
    """A model's order, best first, and the number of repaired ids."""

    order: tuple[str, ...]
    reasoned_by: Provenance
    repaired: int = 0


def repair(order: Sequence[str], candidates: Sequence[ItemFacts]) -> tuple[tuple[str, ...], int]:
    """Drop unknown and repeated ids and append missing ones; count the repairs.

    >>> repair(["b", "x", "b"], [ItemFacts(item_id=i) for i in "ab"])
    (('b', 'a'), 3)
    """
    known = [candidate.item_id for candidate in candidates]
    kept = [name for name in dict.fromkeys(order) if name in known]
    missing = [name for name in known if name not in kept]
    return (*kept, *missing), len(order) - len(kept) + len(missing)


def presentations(items: Sequence[ItemFacts], seed: str, wanted: int) -> list[list[ItemFacts]]:
    """Return presentation orders: shuffles, each followed by its reverse.

    Models favour places: the reverse cancels the gain. No order comes from the input, which may carry another ranker's
    order.
    """
    shown: list[list[ItemFacts]] = []
    for number in range(math.ceil(wanted / 2)):
        shuffled = list(items)
        # Reproducible, not secret.
        random.Random(f"{seed}/{number}").shuffle(shuffled)  # noqa: S311
        shown += [shuffled, shuffled[::-1]]
    return shown[:wanted]


def by_mean_rank(orders: Sequence[Sequence[str]], seed: str) -> tuple[str, ...]:
    """Order ids by their mean rank in several orders (Borda); the seed breaks ties.

    >>> by_mean_rank([["b", "c", "a"], ["b", "a", "c"], ["c", "b", "a"]], "")
    ('b', 'c', 'a')
    """
    names = list(orders[0])
    random.Random(f"{seed}/ties").shuffle(names)  # noqa: S311
    return tuple(sorted(names, key=lambda name: sum(order.index(name) for order in orders)))


def total_cost(calls: Iterable[Provenance]) -> Provenance:
    """Merge the records of several calls: costs add up, the first prompt is kept."""
    costs = ("prompt_tokens", "completion_tokens", "calls", "latency_ms")
    return reduce(
        lambda one, other: one.model_copy(update={name: getattr(one, name) + getattr(other, name) for name in costs}),
        calls,
    )
