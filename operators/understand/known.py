"""The facts that words can name: those of the shown items first, then the skill's, then the domain's."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from operators.habits import is_habit
from schemas import Fact, ItemFacts, PolicySkill

_DIMENSION: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")


def known_facts(items: Sequence[ItemFacts], skill: PolicySkill, vocabulary: Sequence[Fact]) -> tuple[Fact, ...]:
    """Each fact once, the nearest to the person first."""
    return tuple(dict.fromkeys(_facts(items, skill, vocabulary)))


def examples_of(facts: Iterable[Fact], most: int = 3) -> tuple[Fact, ...]:
    """A few facts that words could name, one per dimension."""
    first: dict[str, Fact] = {}
    for fact in facts:
        first.setdefault(fact.dimension, fact)
    return tuple(first.values())[:most]


def shown_facts(items: Sequence[ItemFacts]) -> Iterator[Fact]:
    """The facts of the items that the person sees."""
    return (fact for item in items for fact in item.facts)


def _facts(items: Sequence[ItemFacts], skill: PolicySkill, vocabulary: Sequence[Fact]) -> Iterator[Fact]:
    yield from shown_facts(items)
    for line in skill.attributes:
        if not is_habit(line) and _DIMENSION.fullmatch(line.dimension):
            yield Fact(dimension=line.dimension, value=line.value)
    for said in skill.stated:
        if said.item_id is None and said.bound is None and _DIMENSION.fullmatch(said.dimension):
            yield Fact(dimension=said.dimension, value=said.value)
    yield from vocabulary
