"""A host: an agent that ranks by itself, with its own kind of memory, with or without a slim skill (paper 3.3).

A host follows the paper's order of criteria: the request, then its memory, and the slim skill only to break ties. All
three hosts share this; they differ in their memory.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from operators.rank import LlmRanking, Task
from operators.words import words
from schemas import Facet, ItemFacts

_LIKES, _STYLE, _PREFERS = "likes", "style", "prefers "


@dataclass(frozen=True)
class HostRequest:
    """An app's request for a ranking.

    Attributes:
        user_id: the user who asks.
        candidates: the parsed candidates, with distinct ids.
        instruction: what the user asks for, in their own words.
        history: what the user took before, oldest first.
        slim_skill: the slim skill's text; empty in the arm without it.
        seed: breaks the remaining ties.

    Raises:
        ValueError: two candidates have the same id.
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
    """An agent of one domain. Each arm of a comparison needs its own, since some have a memory."""

    @property
    def name(self) -> str:
        """Its name in reports."""
        ...

    async def rank(self, request: HostRequest) -> tuple[str, ...]:
        """The candidates' ids, best first, each exactly once.

        Raises:
            ReasonerUnavailable: the host's model gave no usable answer.
        """
        ...

    def observe(self, request: HostRequest, item_id: str) -> None:
        """Observes which of a request's candidates the user took.

        Raises:
            ValueError: it is not one of them.
        """
        ...


class Ranks(Protocol):
    """A ranker with a model, such as `operators.rank.llm.LlmRanker`."""

    async def rank(self, task: Task) -> LlmRanking:
        """The candidates in a strict order."""
        ...


def ordered(request: HostRequest, remembered: Callable[[ItemFacts], int]) -> tuple[str, ...]:
    """The order without a model.

    The host's scores are whole numbers, so that ties are exact: the slim skill never moves a candidate past one that
    the host itself scores higher.

    Args:
        request: the request.
        remembered: a candidate's score by the host's memory.
    """
    asked, tastes = words(request.instruction), tastes_of(request.slim_skill)
    shuffled = list(request.candidates)
    # Not for secrecy: a repeatable shuffle, so that no position in the input is favoured.
    random.Random(request.seed).shuffle(shuffled)
    shuffled.sort(key=lambda item: (-_instructed(item, asked), -remembered(item), -_liked(item, tastes)))
    return tuple(item.item_id for item in shuffled)


async def by_model(
    ranker: Ranks, request: HostRequest, context: Sequence[Facet] = (), lately: Sequence[str] = ()
) -> tuple[str, ...]:
    """The order by a model, with the host's memory in the place of the community's facets.

    In both arms, the prompt places it after the request and before the slim skill.

    Raises:
        ReasonerUnavailable: there is no usable answer. A host has no fallback: an evaluation would mix two rankers.
    """
    task = Task(
        request.candidates,
        request.instruction,
        context,
        slim_skill=request.slim_skill,
        lately=lately,
        seed=request.seed,
    )
    return (await ranker.rank(task)).order


def tastes_of(slim_skill: str) -> tuple[frozenset[str], ...]:
    """The tastes that a slim skill names, each as a set of words. Text of any other form names nothing.

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
    """The taken candidate, and the others.

    Raises:
        ValueError: no candidate has this id.
    """
    taken = [item for item in request.candidates if item.item_id == item_id]
    if not taken:
        raise ValueError(f"{item_id!r} is not one of the candidates")
    return taken[0], [item for item in request.candidates if item.item_id != item_id]


def _instructed(item: ItemFacts, asked: frozenset[str]) -> int:
    """How many facts the request names in full, plus how many words of the title it contains."""
    named = sum(1 for fact in item.facts if (said := words(fact.value)) and said <= asked)
    return named + len(words(item.title) & asked)


def _liked(item: ItemFacts, tastes: Sequence[frozenset[str]]) -> int:
    texts = texts_of(item)
    return sum(1 for taste in tastes if any(taste <= text for text in texts))
