"""The axes of habits, and each item's side on them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from operators.attributes import CREATORS, RankedLine, fact_ids
from operators.habit_directions import (
    AGAIN,
    BY_PREFIX,
    CLASSES,
    DECIDING,
    KNOWN_PREFIX,
    POSITION,
    REQUEST,
    is_habit,
)
from operators.language.words import keywords
from operators.learning.evidence import log_ratio
from schemas import Contrast, ItemFacts, Measure

# An axis counts only if at least this many items of a list have a side.
MIN_ITEMS: Final = 3
FAVOURITES: Final = 3
# True: the side that counts as taken; False: the other; None: neither, or unknown.
Side = bool | None
# By axis, one side for each item of the list, in its order; only axes on which items differ.
Sides = Mapping[str, Sequence[Side]]
_POPULARITY: Final = Measure.POPULARITY.value
_DECIDING: Final = frozenset(DECIDING)


@dataclass(frozen=True)
class TasteHistory:
    """A user's history before a choice, as far as habits need it."""

    # Taken lately.
    items: Collection[str] = frozenset()
    # By dimension, as ids: every creator taken before, and the three values of a main dimension that were taken most.
    familiar: Mapping[str, Collection[str]] = field(default_factory=dict)
    # By dimension and id, the strength of the lines.
    tastes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, lines: Iterable[RankedLine], items: Iterable[str] = ()) -> "TasteHistory":
        """Read a skill's lines, and the items taken lately."""
        tastes_only = [line for line in lines if not is_habit(line.attribute_id)]
        creators: dict[str, set[str]] = {}
        mains: dict[str, list[RankedLine]] = {}
        tastes: dict[str, dict[str, float]] = {}
        for line in tastes_only:
            dimension = line.dimension
            if dimension in CREATORS:
                if line.support:
                    creators.setdefault(dimension, set()).add(line.attribute_id)
                continue
            if dimension in CLASSES and line.support:
                mains.setdefault(dimension, []).append(line)
            # Silent lines decide too, and pinned ones only as far as they were taken.
            if line.taken > line.expected and dimension in _DECIDING:
                tastes.setdefault(dimension, {})[line.attribute_id] = log_ratio(line.taken, line.expected)
        for dimension, known in mains.items():
            known.sort(key=lambda line: (-line.taken, line.attribute_id))
            creators[dimension] = {line.attribute_id for line in known[:FAVOURITES]}
        return cls(frozenset(items), creators, tastes)


_NO_HISTORY = TasteHistory()


def sides_of_items(
    items: Sequence[ItemFacts],
    before: TasteHistory = _NO_HISTORY,
    instruction: str = "",
    popularity: Mapping[str, int] | None = None,
    *,
    shown: bool = True,
) -> Sides:
    """Return each item's side on every axis that separates the items.

    `popularity` is for lists whose items do not have that measure. `shown`: the user saw the items in this order; else
    there is no `position`.
    """
    if len(items) < MIN_ITEMS:
        return {}
    found: dict[str, Sequence[Side]] = {}
    measures = [item.measures for item in items]
    votes = [measured.get(_POPULARITY) for measured in measures]
    if len(items) - votes.count(None) >= MIN_ITEMS:
        _add(found, _POPULARITY, _split(votes))
    elif popularity:
        _add(found, _POPULARITY, _split([float(popularity.get(item.item_id, 0)) for item in items]))
    if before.items:
        _add(found, AGAIN, [item.item_id in before.items for item in items])
    if before.familiar or before.tastes:
        _by_facts(found, items, before)
    if asked := keywords(instruction) if instruction else None:
        _add(found, REQUEST, [_matches(item, asked) for item in items])
    if shown:
        last = len(items) - 1
        _add(found, POSITION, [None if 2 * place == last else 2 * place < last for place in range(len(items))])
    return found


def shown_items(contrast: Contrast) -> tuple[tuple[ItemFacts, ...], int]:
    """Return a contrast's items as shown, and the chosen place from 0."""
    others = {item.item_id: item for item in reversed(contrast.unchosen) if item.item_id != contrast.chosen.item_id}
    place = min(contrast.chosen_rank - 1, len(others))
    left = tuple(others.values())
    return (*left[:place], contrast.chosen, *left[place:]), place


def _by_facts(found: dict[str, Sequence[Side]], items: Sequence[ItemFacts], before: TasteHistory) -> None:
    # Familiar or new values, and the strength of the matching tastes, by dimension.
    size, known, tastes = len(items), before.familiar, before.tastes
    familiar: dict[str, list[Side]] = {dimension: [None] * size for dimension in known}
    scores: dict[str, list[float]] = {dimension: [0.0] * size for dimension in tastes}
    for place, item in enumerate(items):
        for name, fact in zip(fact_ids(item.facts), item.facts, strict=True):
            dimension = fact.dimension
            if dimension in tastes:
                taste = tastes[dimension].get(name)
                if taste is not None:
                    scores[dimension][place] += taste
            if dimension in known:
                row = familiar[dimension]
                # The first genre or category classifies an item; any creator counts.
                if row[place] is None or (not row[place] and dimension in CREATORS):
                    row[place] = name in known[dimension]
    for dimension, row in familiar.items():
        _add(found, KNOWN_PREFIX + dimension, row)
    for dimension, column in scores.items():
        _add(found, BY_PREFIX + dimension, _split(column))


def _split(values: Sequence[float | None]) -> Sequence[Side]:
    # Split at the median. If no value is below it, values at the median count as below; likewise for above.
    known = sorted([value for value in values if value is not None])
    if len(known) < MIN_ITEMS or known[0] == known[-1]:
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
    # Two items, or a list on one side, cannot show a direction.
    if True in row and False in row and len(row) - row.count(None) >= MIN_ITEMS:
        found[axis] = row


def _matches(item: ItemFacts, asked: frozenset[str]) -> bool:
    return bool(keywords(item.title) & asked) or any(
        (found := keywords(fact.value)) and found <= asked for fact in item.facts
    )
