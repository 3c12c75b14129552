"""A host: an agent that ranks by itself, with a memory of its own kind, and is given a slim skill or not (paper 3.3).

A host judges in the order that the paper gives a ranking: what was asked for, then what it remembers, and only where
both leave candidates equal, the slim skill. All three hosts share this; they differ in what they remember.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from operators.rank import LlmRanking, Task
from operators.rank.deterministic import words
from schemas import Facet, ItemFacts

_LIKES, _STYLE, _PREFERS = "likes", "style", "prefers "


@dataclass(frozen=True)
class HostRequest:
    """What an app has when it is to rank.

    Attributes:
        user_id: who asks.
        candidates: parsed, no id twice.
        instruction: what the user asks for, in their own words.
        history: what the user took before, the oldest first.
        slim_skill: the slim skill's text; empty is the arm without it.
        seed: decides between candidates that nothing else tells apart.

    Raises:
        ValueError: a candidate stands there twice.
    """

    user_id: str
    candidates: Sequence[ItemFacts]
    instruction: str = ""
    history: Sequence[ItemFacts] = ()
    slim_skill: str = ""
    seed: str = ""

    def __post_init__(self) -> None:
        if len({item.item_id for item in self.candidates}) != len(self.candidates):
            raise ValueError("candidates must be different")


class Host(Protocol):
    """An agent of one domain. Two arms of a comparison need two of them, since some remember."""

    @property
    def name(self) -> str:
        """What reports call it."""
        ...

    async def rank(self, request: HostRequest) -> tuple[str, ...]:
        """The candidates' ids, best first, each exactly once.

        Raises:
            ReasonerUnavailable: the host has a model, and it gave no usable answer.
        """
        ...

    def observe(self, request: HostRequest, item_id: str) -> None:
        """Be told what the user took of a request's candidates.

        Raises:
            ValueError: it is none of them.
        """
        ...


class Ranks(Protocol):
    """Can rank with a model. `operators.rank.llm.LlmRanker` is one."""

    async def rank(self, task: Task) -> LlmRanking:
        """The candidates in a strict order."""
        ...


def ordered(request: HostRequest, remembered: Callable[[ItemFacts], int]) -> tuple[str, ...]:
    """The order without a model.

    What the host scores are whole numbers, so that ties are ties: the slim skill never moves a candidate past one that
    the host itself finds better.

    Args:
        request: what is to be ranked.
        remembered: how well a candidate suits what the host remembers.
    """
    asked, tastes = words(request.instruction), tastes_of(request.slim_skill)
    shuffled = list(request.candidates)
    # Not for secrecy: a shuffle that the same seed repeats, so that no place in the input is favoured.
    random.Random(request.seed).shuffle(shuffled)
    shuffled.sort(key=lambda item: (-_instructed(item, asked), -remembered(item), -_liked(item, tastes)))
    return tuple(item.item_id for item in shuffled)


async def by_model(ranker: Ranks, request: HostRequest, context: Sequence[Facet]) -> tuple[str, ...]:
    """The order that a model gives, with the host's memory where our own ranker has the community's facets.

    There the prompt has it speak after the request and before the slim skill, in either arm.

    Raises:
        ReasonerUnavailable: there is no usable answer. A host does not fall back: an evaluation would mix two rankers.
    """
    task = Task(request.candidates, request.instruction, context, slim_skill=request.slim_skill, seed=request.seed)
    return (await ranker.rank(task)).order


def tastes_of(slim_skill: str) -> tuple[frozenset[str], ...]:
    """What a slim skill's line names, each as its words. Whatever has another form names nothing.

    >>> [sorted(taste) for taste in tastes_of("likes: dark reads, noir | style: prefers 1990s")]
    [['dark', 'reads'], ['noir'], ['1990s']]
    """
    found: list[frozenset[str]] = []
    for part in slim_skill.split("|"):
        heading, _, said = part.strip().partition(": ")
        phrases = said.split(",") if heading == _LIKES else [said.removeprefix(_PREFERS)] if heading == _STYLE else []
        found += [taste for phrase in phrases if (taste := words(phrase))]
    return tuple(found)


def texts_of(item: ItemFacts) -> list[frozenset[str]]:
    """The words of an item's title, and of each of its facts."""
    return [words(item.title), *(words(fact.value) for fact in item.facts)]


def parted(request: HostRequest, item_id: str) -> tuple[ItemFacts, list[ItemFacts]]:
    """What was taken, and what was left.

    Raises:
        ValueError: nothing of this id was there to take.
    """
    taken = [item for item in request.candidates if item.item_id == item_id]
    if not taken:
        raise ValueError(f"{item_id!r} is none of the candidates")
    return taken[0], [item for item in request.candidates if item.item_id != item_id]


def _instructed(item: ItemFacts, asked: frozenset[str]) -> int:
    """Facts that the request names whole, and words of the title that are in it."""
    named = sum(1 for fact in item.facts if (said := words(fact.value)) and said <= asked)
    return named + len(words(item.title) & asked)


def _liked(item: ItemFacts, tastes: Sequence[frozenset[str]]) -> int:
    texts = texts_of(item)
    return sum(1 for taste in tastes if any(taste <= text for text in texts))
