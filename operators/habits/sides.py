"""On which side of every axis each item of a list stands."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from operators.attributes import CREATORS, fact_ids
from operators.evidence import strength
from operators.habits.axes import AGAIN, BY, DECIDING, KNOWN, MAIN, POLE_OF, POSITION, REQUEST
from operators.words import words
from schemas import Attribute, Contrast, ItemFacts, Measure

LEAST: Final = 3
"""A list says how somebody decides by a thing only if at least this many of its items have the thing."""
FAVOURITES: Final = 3
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
    """What a skill knows of a user before a choice, as far as habits are about it.

    Attributes:
        items: ids of what they took lately.
        values: attribute ids of what is familiar, by dimension: every creator of which there is a line, and the three
            values of a main dimension that were taken most.
        tastes: how much the lines say for an item, by attribute id.
    """

    items: frozenset[str] = frozenset()
    values: Mapping[str, Collection[str]] = field(default_factory=dict)
    tastes: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, lines: Iterable[Attribute]) -> "Before":
        """What these lines of a skill tell of it."""
        items: set[str | None] = set()
        familiar: dict[str, list[Attribute]] = {}
        tastes: dict[str, float] = {}
        for line in lines:
            if line.attribute_id in POLE_OF:
                continue
            items.update([one.item_id for one in line.evidence])
            if line.dimension in _FAMILIAR and line.support:
                familiar.setdefault(line.dimension, []).append(line)
            if line.dimension in _DECIDING and (said := strength(line)):
                tastes[line.attribute_id] = said
        values = {dimension: _familiar(dimension, known) for dimension, known in familiar.items()}
        return cls(frozenset(name for name in items if name is not None), values, tastes)


def _familiar(dimension: str, lines: list[Attribute]) -> Collection[str]:
    if dimension in MAIN:
        lines = sorted(lines, key=lambda line: (-line.taken, line.attribute_id))[:FAVOURITES]
    return {line.attribute_id for line in lines}


_NOTHING = Before()


def sides_of(
    items: Sequence[ItemFacts],
    before: Before = _NOTHING,
    instruction: str = "",
    popularity: Mapping[str, int] | None = None,
    *,
    shown: bool = True,
    ids: Sequence[Sequence[str]] | None = None,
) -> Sides:
    """Where each item of a list stands on every axis that leaves a choice among them.

    Args:
        items: the list, as it was shown.
        before: what the user took before, and how they liked it.
        instruction: the user's own words.
        popularity: how many users took an item lately; for lists whose items do not say how popular they are.
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
    if before.values or before.tastes:
        _by_facts(found, items, ids or [fact_ids(item.facts) for item in items], before)
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
    before: Before,
) -> None:
    """The axes about what items are: familiar or new, and how much of the user's taste they have by dimension."""
    size, known, tastes = len(items), before.values, before.tastes
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
