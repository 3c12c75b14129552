"""On which side of every axis each item of a list stands."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from operators.attributes import CREATORS, fact_id, fact_ids
from operators.habits.axes import AGAIN, BY, DECIDING, KNOWN, MAIN, POSITION, REQUEST
from operators.words import words
from schemas import Contrast, ItemFacts, Measure, Memory

LEAST: Final = 3
"""A list says how somebody decides by a thing only if at least this many of its items have the thing."""
Side = bool | None
"""True: on the side that counts as taken; False: on the other; None: on neither, or not known."""
Sides = Mapping[str, Sequence[Side]]
"""By the axis's name, one side for each item of the list, in its order; only axes that leave a choice."""
_MEASURES: Final = tuple(measure.value for measure in Measure)
_POPULARITY: Final = Measure.POPULARITY.value
_DECIDING: Final = frozenset(DECIDING)
_FAMILIAR: Final = frozenset({*CREATORS, *MAIN})


@dataclass(frozen=True)
class Before:
    """What is known of a user before a choice, as far as habits are about it.

    Attributes:
        items: ids of what they took.
        values: what the items that they took have of a dimension: every creator, and of the main dimensions the first.
    """

    items: frozenset[str] = frozenset()
    values: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, memory: Memory | None) -> "Before":
        """What a user's memory tells of it; nothing without one."""
        if memory is None:
            return _NOTHING
        values: dict[str, set[str]] = {}
        for taken in memory.taken:
            mains: list[str] = []
            for fact in taken.facts:
                dimension = fact.dimension
                if dimension not in _FAMILIAR or dimension in mains:
                    continue
                if dimension in MAIN:
                    mains.append(dimension)
                values.setdefault(dimension, set()).add(fact_id(fact))
        return cls(
            frozenset([taken.item_id for taken in memory.taken]),
            {dimension: frozenset(names) for dimension, names in values.items()},
        )


_NOTHING = Before()


def sides_of(
    items: Sequence[ItemFacts],
    before: Before = _NOTHING,
    instruction: str = "",
    popularity: Mapping[str, int] | None = None,
    tastes: Mapping[str, float] | None = None,
    *,
    shown: bool = True,
    ids: Sequence[Sequence[str]] | None = None,
) -> Sides:
    """Where each item of a list stands on every axis that leaves a choice among them.

    Args:
        items: the list, as it was shown.
        before: what the user took before.
        instruction: the user's own words.
        popularity: how many users took an item lately; for lists whose items do not say how popular they are.
        tastes: the weights of the skill's lines, by attribute id.
        shown: the order of the items is what the user saw; without it there is no `position`.
        ids: the attribute ids of each item's facts, for callers that have them.
    """
    if len(items) < LEAST:
        return {}
    found: dict[str, Sequence[Side]] = {}
    measures = [item.measures for item in items]
    for name in _MEASURES:
        values = [measured.get(name) for measured in measures]
        if len(items) - values.count(None) >= LEAST:
            _add(found, name, _split(values))
    if _POPULARITY not in found and popularity:
        _add(found, _POPULARITY, _split([float(popularity.get(item.item_id, 0)) for item in items]))
    if before.items:
        _add(found, AGAIN, [item.item_id in before.items for item in items])
    if before.values or tastes:
        _by_facts(found, items, ids or [fact_ids(item.facts) for item in items], before.values, tastes or {})
    if asked := words(instruction) if instruction else None:
        _add(found, REQUEST, [_matches(item, asked) for item in items])
    if shown:
        last = len(items) - 1
        _add(found, POSITION, [None if 2 * place == last else 2 * place < last for place in range(len(items))])
    return found


def shown_of(contrast: Contrast) -> tuple[tuple[ItemFacts, ...], int]:
    """The list of a contrast as it was shown, each item once, and the place of the chosen one, counted from 0."""
    others = {item.item_id: item for item in reversed(contrast.unchosen) if item.item_id != contrast.chosen.item_id}
    place = min(contrast.chosen_rank - 1, len(others))
    left = tuple(others.values())
    return (*left[:place], contrast.chosen, *left[place:]), place


def _by_facts(
    found: dict[str, Sequence[Side]],
    items: Sequence[ItemFacts],
    ids: Sequence[Sequence[str]],
    known: Mapping[str, frozenset[str]],
    tastes: Mapping[str, float],
) -> None:
    """The axes about what items are: familiar or new, and how much of the user's taste they have by dimension."""
    size = len(items)
    familiar: dict[str, list[Side]] = {dimension: [None] * size for dimension in known}
    scores: dict[str, list[float]] = {}
    for place, (item, names) in enumerate(zip(items, ids, strict=True)):
        for fact, name in zip(item.facts, names, strict=True):
            dimension = fact.dimension
            if dimension in known:
                row = familiar[dimension]
                # Of a main dimension the first value says what an item is, of creators each.
                if row[place] is None or (not row[place] and dimension in CREATORS):
                    row[place] = name in known[dimension]
            weight = tastes.get(name)
            if weight and dimension in _DECIDING:
                column = scores.setdefault(dimension, [0.0] * size)
                column[place] += weight
    for dimension, row in familiar.items():
        _add(found, KNOWN + dimension, row)
    for dimension, column in scores.items():
        _add(found, BY + dimension, _split(column))


def _split(values: Sequence[float | None]) -> Sequence[Side]:
    """Above or below the median of those that are known. Where none is below it, those at it are, and so for above."""
    known = sorted([value for value in values if value is not None])
    if len(known) < LEAST or known[0] == known[-1]:
        return ()
    middle = (known[(len(known) - 1) // 2] + known[len(known) // 2]) / 2
    side: Callable[[float], Side]
    if known[0] == middle:
        side = middle.__lt__
    elif known[-1] == middle:
        side = middle.__le__
    else:
        return [None if value is None or value == middle else value > middle for value in values]
    return [None if value is None else side(value) for value in values]


def _add(found: dict[str, Sequence[Side]], axis: str, row: Sequence[Side]) -> None:
    """The axis with these sides, if they leave a choice between at least three items."""
    if True in row and False in row and len(row) - row.count(None) >= LEAST:
        found[axis] = row


def _matches(item: ItemFacts, asked: frozenset[str]) -> bool:
    return bool(words(item.title) & asked) or any((said := words(fact.value)) and said <= asked for fact in item.facts)
