"""Measures of an item: price, year, rating, popularity, distance and length.

A price of `$$` is 2, a distance is in kilometres where its unit is given, and a length of `1h 30m` is 90. Numbers are
compared within a list and never across domains, so that only their order counts. Below 0 and above 1e9 none counts.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from operators.statinit import generic, text
from schemas import MAX_MEASURE, Candidate, Measure

# The metadata keys of each measure, best first; `text.year` reads years.
_KEYS: Final[Mapping[Measure, tuple[str, ...]]] = {
    Measure.PRICE: (*text.KEYS["price"], "cost"),
    Measure.YEAR: (),
    Measure.RATING: ("stars", "rating", "average_rating", "avg_rating", "imdb_rating", "vote_average", "score"),
    Measure.POPULARITY: (
        *("review_count", "reviews_count", "num_reviews", "ratings_count", "rating_count", "num_ratings"),
        *("num_voted_users", "vote_count", "votes", "popularity"),
    ),
    Measure.DISTANCE: ("distance", "distance_km", "distance_m", "distance_miles"),
    Measure.LENGTH: (
        *("duration", "duration_minutes", "runtime", "running_time", "length", "minutes", "cook_time", "total_time"),
        *("pages", "num_pages", "number_of_pages", "page_count"),
    ),
}
_ALL_KEYS: Final = frozenset(key for keys in _KEYS.values() for key in keys)
_NAME: Final = re.compile(r"[a-z][a-z_]{0,19}")
MAX_NUMBERS: Final = 2 * len(Measure)
_MAX_CHARS: Final = 24
_TIER: Final = re.compile(r"[$\u20ac\u00a3]{1,5}")
_NUMBER: Final = re.compile(r"(?<![\d.])\d{1,9}(?:[.,]\d{1,6})?(?![\d])")
# A point too, if three digits and another mark follow, as in `1.299,00`, or if it is the last of several.
_THOUSANDS: Final = re.compile(
    r"(?<=\d)(?:[,' \xa0\u2019\u202f](?=\d{3}(?!\d))|\.(?=\d{3}[.,]\d)|(?<=\.\d{3})\.(?=\d{3}(?!\d)))"
)
_CLOCK: Final = re.compile(
    r"(?:pt)?(?:(\d{1,3}(?:[.,]\d{1,2})?) ?h(?:ours?|rs?)?)?,? ?(?:(\d{1,4}) ?(?:m(?:in(?:ute)?s?)?\.?)?)?"
)
_KILOMETRES: Final = {"km": 1.0, "m": 0.001, "mi": 1.609, "mile": 1.609, "miles": 1.609, "ft": 0.000305}
_WITH_UNIT: Final = re.compile(rf"(\d{{1,7}}(?:[.,]\d{{1,3}})?) ?({'|'.join(_KILOMETRES)})")


def measures_of(candidate: Candidate) -> dict[str, float]:
    """Return the item's measures by name, each from 0 to 1e9.

    >>> measures_of(Candidate(item_id="f1", title="Salt Harbour (1996)", metadata={"Runtime": "1h 38m", "votes": 812}))
    {'year': 1996.0, 'popularity': 812.0, 'length': 98.0}
    >>> measures_of(Candidate(item_id="p1", metadata={"price": "$$", "distance": "800 m", "stars": "n/a"}))
    {'price': 2.0, 'distance': 0.8}
    """
    folded = text.fold_keys(candidate.metadata)
    traits = text.traits_of(folded)
    folded = {key: traits[key] for key in _KEYS[Measure.PRICE] if key in traits} | folded
    found: dict[str, float] = {}
    for measure, keys in _KEYS.items():
        amounts = (_amount(measure, key, folded[key]) for key in keys if key in folded)
        if (amount := next((each for each in amounts if each is not None), None)) is not None:
            found[measure.value] = amount
        elif measure is Measure.YEAR and (year := text.year(folded, candidate.title)):
            found[measure.value] = float(year)
    for key, value in candidate.metadata.items():
        name = generic.dimension_of(key)
        if len(found) < MAX_NUMBERS and name not in found and _NAME.fullmatch(name) and key.lower() not in _ALL_KEYS:
            number = None if isinstance(value, str) else _amount(Measure.PRICE, key, value)
            if number is not None:
                found[name] = number
    return found


def _amount(measure: Measure, key: str, value: Any) -> float | None:
    has_unit = False
    if isinstance(value, str):
        raw = _THOUSANDS.sub("", value[:_MAX_CHARS].strip("u'\" ").lower())
        has_unit, value = _WITH_UNIT.fullmatch(raw) is not None, _read(measure, raw)
    # The comparison also leaves out NaN, and integers too large for a float.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_MEASURE:
        return None
    if measure is Measure.DISTANCE and not has_unit:
        value *= 0.001 if key.endswith("_m") else 1.609 if key.endswith("_miles") else 1.0
    # A rate of 0.0425 needs more digits.
    return round(min(float(value), MAX_MEASURE), 6 if value < 1 else 3)


@lru_cache(maxsize=4_096)
def _read(measure: Measure, raw: str) -> float | None:
    if measure is Measure.PRICE and _TIER.fullmatch(raw):
        return float(len(raw))
    if measure is Measure.LENGTH and raw and (clock := _CLOCK.fullmatch(raw)) and any(clock.groups()):
        return 60.0 * float((clock[1] or "0").replace(",", ".")) + float(clock[2] or 0)
    if measure is Measure.DISTANCE and (unit := _WITH_UNIT.fullmatch(raw)):
        return float(unit[1].replace(",", ".")) * _KILOMETRES[unit[2]]
    if raw.startswith("-"):
        return None
    found = _NUMBER.search(raw)
    return float(found[0].replace(",", ".")) if found else None
