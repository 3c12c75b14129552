"""The facts that words can name: those of the shown items first, then the skill's, then the domain's."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from operators.habits import is_habit
from schemas import Fact, ItemFacts, PolicySkill

MOST_EXAMPLES: Final = 3
MOST_TRIED: Final = 12
TRIED_OF_A_DIMENSION: Final = 3
EXAMPLE_CHARS: Final = 40
_DIMENSION: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")


def known_facts(items: Sequence[ItemFacts], skill: PolicySkill, vocabulary: Sequence[Fact]) -> tuple[Fact, ...]:
    """Each fact once, the nearest to the person first."""
    return tuple(dict.fromkeys(_facts(items, skill, vocabulary)))


def examples_of(facts: Iterable[Fact], is_understood: Callable[[str], bool]) -> tuple[Fact, ...]:
    """Return a few facts that a person can state a wish about, at most one per dimension.

    Args:
        facts: the nearest to the person first.
        is_understood: whether a sentence would be read as a wish; it takes about a millisecond.
    """
    found: dict[str, Fact] = {}
    tried: Counter[str] = Counter()
    for fact in facts:
        if len(found) == MOST_EXAMPLES or tried.total() == MOST_TRIED:
            break
        if fact.dimension in found or tried[fact.dimension] == TRIED_OF_A_DIMENSION:
            continue
        tried[fact.dimension] += 1
        if len(fact.value) <= EXAMPLE_CHARS and all(is_understood(each) for each in wishes_about(fact)):
            found[fact.dimension] = fact
    return tuple(found.values())


def wishes_about(fact: Fact) -> tuple[str, str]:
    """Return the two sentences that answers suggest.

    >>> wishes_about(Fact(dimension="genre", value="horror"))
    ('no horror', 'I like horror')
    """
    return f"no {fact.value}", f"I like {fact.value}"


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
