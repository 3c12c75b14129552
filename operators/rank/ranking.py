"""What a ranking by a model starts from, and what its answers become: always a permutation of the candidates."""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from schemas import Candidate, Facet, ItemFacts, ReasonedBy
from schemas.events import MAX_CANDIDATES


@dataclass(frozen=True)
class Task:
    """One ranking to be made by a model.

    Attributes:
        items: the candidates, parsed, no id twice.
        instruction: what the user asked for, in their own words.
        facets: what the community says about the user, the surest first.
        companions: per item id, from 0 to 1, how strongly others took it together with what this user took.
        slim_skill: the slim skill's text, as `operators.slim` makes it.
        lately: titles of what the person took lately, newest first; only hosts that rank by titles tell it.
        seed: decides the presentation orders, and between candidates that tie.

    Raises:
        ValueError: more candidates than a rank request may have, or one twice.
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
    """The order that a model gave, and how it came about.

    Attributes:
        order: the candidates' ids, best first, each exactly once.
        reasoned_by: which prompt and model, and the cost of all calls that were answered.
        repaired: ids that the model left out, invented or repeated.
        scores: per item id, higher is better; comparable only inside one ranking.
        presentations: in how many presentation orders the candidates were judged; the scores are their mean.
    """

    order: tuple[str, ...]
    reasoned_by: ReasonedBy
    repaired: int = 0
    scores: Mapping[str, float] = field(default_factory=dict)
    presentations: int = 0


@dataclass(frozen=True)
class Repaired:
    """A permutation made whole, and how much had to be done to it."""

    order: tuple[str, ...]
    unknown: int
    repeated: int
    missing: int


def repair(order: Sequence[str], candidates: Sequence[Candidate | ItemFacts]) -> Repaired:
    """A ranking by a model made a permutation: unknown and repeated ids dropped, missing ones appended.

    >>> repair(["b", "x", "b"], [ItemFacts(item_id=i) for i in "ab"])
    Repaired(order=('b', 'a'), unknown=1, repeated=1, missing=1)
    """
    known = [candidate.item_id for candidate in candidates]
    kept = [name for name in dict.fromkeys(order) if name in known]
    missing = [name for name in known if name not in kept]
    unknown = sum(1 for name in order if name not in known)
    return Repaired((*kept, *missing), unknown, len(order) - unknown - len(kept), len(missing))


def presentations(items: Sequence[ItemFacts], seed: str, wanted: int) -> list[list[ItemFacts]]:
    """The orders in which the candidates are shown: a shuffle and its reverse, another shuffle and its reverse, ...

    In pairs, because models favour places: what a candidate gains by its place it loses again in the reverse. No order
    comes from the input, which may well carry somebody else's ranking.
    """
    shown: list[list[ItemFacts]] = []
    for number in range(math.ceil(wanted / 2)):
        shuffled = list(items)
        # Not for secrecy: a shuffle that the same seed repeats.
        random.Random(f"{seed}/{number}").shuffle(shuffled)  # noqa: S311
        shown += [shuffled, shuffled[::-1]]
    return shown[:wanted]


def by_score(scores: Mapping[str, float], seed: str) -> tuple[str, ...]:
    """The ids, highest score first; ties are broken by the seed, so that no place in the input is favoured."""
    names = list(scores)
    random.Random(f"{seed}/ties").shuffle(names)  # noqa: S311
    return tuple(sorted(names, key=lambda name: -scores[name]))


def mean(each: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean score per id.

    >>> mean([{"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 0.0}])
    {'a': 0.5, 'b': 0.0}
    """
    # fsum: the order of the presentations must not break a tie by the last bit of a sum.
    return {name: math.fsum(scores[name] for scores in each) / len(each) for name in each[0]}


def places(order: Sequence[str]) -> dict[str, float]:
    """Borda's count, as a share: 1 for the first place, 0 for the last.

    >>> places(["b", "c", "a"])
    {'b': 1.0, 'c': 0.5, 'a': 0.0}
    """
    last = max(len(order) - 1, 1)
    return {name: 1 - place / last for place, name in enumerate(order)}


def together(calls: Iterable[ReasonedBy]) -> ReasonedBy:
    """The record of several answered questions as one: costs add up, the first one's prompt stands for all."""
    return reduce(
        lambda one, other: one.model_copy(
            update={
                "prompt_tokens": one.prompt_tokens + other.prompt_tokens,
                "completion_tokens": one.completion_tokens + other.completion_tokens,
                "calls": one.calls + other.calls,
                "latency_ms": one.latency_ms + other.latency_ms,
            }
        ),
        calls,
    )
