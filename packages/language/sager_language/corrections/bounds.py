"""Bounds of measures: `cheaper`, `newer than the second`, `under 20 euros`."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from sager_language.corrections.language import Language, Meaning, More
from sager_language.types import MAX_AMOUNT, Bound, Item, Measure

# The least difference that any reader means: bounds leave their amount out, and `at most 20` lets it in.
STEP: Final[Mapping[Measure, float]] = {
    Measure.PRICE: 0.01,
    Measure.YEAR: 1.0,
    Measure.RATING: 0.01,
    Measure.POPULARITY: 1.0,
    Measure.DISTANCE: 0.001,
    Measure.LENGTH: 1.0,
}
FIRST_YEAR: Final = 1000
FIRST_LIKELY_YEAR: Final = 1900
LAST_YEAR: Final = 2099
_OF_YEARS: Final = frozenset({Meaning.BEFORE, Meaning.UNTIL, Meaning.SINCE, Meaning.AFTER})
_MORE: Final = frozenset({Meaning.ABOVE, Meaning.AT_LEAST, Meaning.SINCE, Meaning.AFTER})
_INCLUSIVE: Final = frozenset({Meaning.AT_LEAST, Meaning.AT_MOST, Meaning.SINCE, Meaning.UNTIL})
_CURRENCIES: Final = frozenset("€$£")
_CODES: Final = frozenset({"eur", "usd", "gbp", "chf"})
_THOUSANDS: Final = re.compile(r"\d{1,3}(?:[.,]\d{3})+")


def compared(more: More, measured: Sequence[Item], *, strictly: bool) -> Bound | None:
    """Return a bound beyond these items; None if none is measured."""
    amounts = [item.measures[more.measure] for item in measured if more.measure in item.measures]
    if not amounts:
        return None
    beyond = (max if more.is_more else min)(amounts) if strictly else sum(amounts) / len(amounts)
    return _bound(more.measure, round(beyond, 3), is_more=more.is_more)


def bounded(
    meaning: Meaning, amount: str, language: Language, items: Sequence[Item], measure: Measure | None = None
) -> Bound | None:
    """Return the bound of an amount; None if its measure is unclear."""
    found = _amount(amount, language)
    if found is None:
        return None
    number, unit = found
    if meaning in _OF_YEARS:
        is_year = unit is None and FIRST_YEAR <= number <= LAST_YEAR
        measure = Measure.YEAR if is_year and measure in (None, Measure.YEAR) else None
    elif measure is None or unit is not None:
        if measure is not None and unit is not measure:
            return None
        measure = unit or _plain_measure(number, items)
    if measure is None:
        return None
    is_more = meaning in _MORE
    if meaning in _INCLUSIVE:
        number += -STEP[measure] if is_more else STEP[measure]
    return _bound(measure, round(number, 3), is_more=is_more)


def _plain_measure(number: float, items: Sequence[Item]) -> Measure | None:
    measured = {name for item in items for name in item.measures}
    if Measure.YEAR in measured and FIRST_LIKELY_YEAR <= number <= LAST_YEAR:
        return None
    return Measure.PRICE if Measure.PRICE in measured else None


def _bound(measure: Measure, amount: float, *, is_more: bool) -> Bound | None:
    if not 0 <= amount <= MAX_AMOUNT or (amount == 0 and not is_more):
        return None
    return Bound(measure=measure, above=amount) if is_more else Bound(measure=measure, below=amount)


def _amount(spaced: str, language: Language) -> tuple[float, Measure | None] | None:
    words = spaced.split()
    is_money = any(word in _CODES or not _CURRENCIES.isdisjoint(word) for word in words)
    numbers = [word.strip("€$£.,") for word in words if any(c.isdigit() for c in word)]
    if len(numbers) != 1 or (number := _number(numbers[0])) is None:
        return None
    behind = spaced.partition(f"{numbers[0]}")[2].lstrip("€$£ ")
    unit = language.units.get(behind) if behind else None
    if unit is None:
        return number, Measure.PRICE if is_money else None
    return number * unit[1], unit[0]


def _number(written: str) -> float | None:
    """A number as English or German writes it.

    >>> _number("1.000"), _number("19,99"), _number("2.5"), _number("1,2,3")
    (1000.0, 19.99, 2.5, None)
    """
    plain = re.sub("[.,]", "", written) if _THOUSANDS.fullmatch(written) else written.replace(",", ".")
    try:
        return float(plain)
    except ValueError:
        return None
