"""Directives by the meaning of a sentence."""

from collections.abc import Callable, Mapping
from typing import Final

from sager_language.corrections.language import Meaning
from sager_language.corrections.names import Named, name_words
from sager_language.types import Stance, Statement

# A sentence's statements, and the items that would do.
Meanings = tuple[tuple[Statement, ...], tuple[str, ...]]
# What a pattern's slots name.
Slots = Mapping[str, tuple[Named, ...]]


def of_facts(stance: Stance, named: Named, *, changed: bool = False) -> tuple[Statement, ...]:
    """The stance of a person towards a named thing."""
    return tuple(
        Statement(stance=stance, dimension=fact.dimension, value=fact.value, changed=changed) for fact in named.facts
    )


def _stances(stance: Stance, *, changed: bool = False) -> Callable[[Slots], Meanings]:
    def says(named: Slots) -> Meanings:
        found: list[Statement] = []
        for one in named["x"]:
            if one.facts:
                found.extend(of_facts(stance, one, changed=changed))
            elif one.item:
                found.append(Statement(stance=stance, item_id=one.item))
            else:
                return (), ()
        return tuple(found), ()

    return says


def _suits(named: Slots) -> Meanings:
    items = [one.item for one in named["x"]]
    return (), tuple(item for item in items if item is not None) if None not in items else ()


def _instead(named: Slots) -> Meanings:
    wanted, over = named["x"], named["y"]
    if len(wanted) == len(over) == 1 and (one := wanted[0].fact) and (other := over[0].fact):
        if one == other:
            return (), ()
        if one.dimension == other.dimension:
            instead = Statement(stance=Stance.INSTEAD, dimension=one.dimension, value=one.value, over=other.value)
            return (instead,), ()
    return _stances(Stance.PREFERS)(named)


def _contrast(named: Slots) -> Meanings:
    wanted, over = named["x"], named["y"]
    if len(wanted) == len(over) == 1 and (one := wanted[0].fact) and (other := over[0].fact):
        if one.dimension == other.dimension and one != other:
            return _instead(named)
        return (), ()
    if len(wanted) == len(over) == 1 and wanted[0].item and over[0].item and wanted[0].item != over[0].item:
        avoided = Statement(stance=Stance.AVOIDS, item_id=over[0].item)
        return (avoided, Statement(stance=Stance.PREFERS, item_id=wanted[0].item)), ()
    return (), ()


_DIETS: Final = frozenset(
    {"vegan", "vegetarian", "pescatarian", "gluten free", "lactose free", "dairy free", "sugar free", "low carb"}
)


def _eats(named: Slots) -> Meanings:
    are_diets = all(one.fact and " ".join(name_words(one.fact.value)) in _DIETS for one in named["x"])
    return _stances(Stance.PREFERS)(named) if are_diets else ((), ())


SAYS: Final[Mapping[Meaning, Callable[[Slots], Meanings]]] = {
    Meaning.AVOIDS: _stances(Stance.AVOIDS),
    Meaning.PREFERS: _stances(Stance.PREFERS),
    Meaning.NO_LONGER: _stances(Stance.AVOIDS, changed=True),
    Meaning.NOW_PREFERS: _stances(Stance.PREFERS, changed=True),
    Meaning.EATS: _eats,
    Meaning.SUITS: _suits,
    Meaning.INSTEAD: _instead,
    Meaning.CONTRAST: _contrast,
}
