"""Places: categories, price, city, ambience, meals and rating (paper App. E).

`attributes` come in four spellings: a dotted key (`Ambience.casual: "True"`), a dict, a dict written as a string, and
joined words (`Ambience_casual Ambience_trendy`). They may also stand in the metadata itself.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from operators.statinit import text
from operators.statinit.vocabulary import TABLES, closed_facts
from schemas import Candidate, Fact

_WORDS: Final = TABLES["yelp"]
_DROPPED, _ROOTS = frozenset(_WORDS["dropped"]), frozenset(_WORDS["roots"])
# Values that words can name before any item was seen.
VOCABULARY: Final = closed_facts(
    category=(*_WORDS["cuisines"], *dict.fromkeys(_WORDS["rejoined"].values()), *sorted(_ROOTS)),
    ambience=_WORDS["ambience"],
    meal=_WORDS["meal"],
)
HIGHLY_RATED: Final = 4.0
TOP_STARS: Final = 5
# About five kilometres: of the sizes measured (0.02, 0.05, 0.1) the one that predicts best where people go next.
SQUARE_DEGREES: Final = 0.05
_ANGLE: Final = re.compile(r"-?[0-9]{1,3}(\.[0-9]{1,15})?")
_TIER: Final = re.compile(r"[1-4]|\${1,4}")
_STARS: Final = re.compile(r"\s*[0-5](\.\d{1,9})?\s*")


def parse(candidate: Candidate) -> tuple[Fact, ...]:
    """Read a place's facts (paper App. E, Table 6).

    >>> place = {"categories": "Restaurants, Thai", "city": "Reno", "attributes": {"Ambience": "Ambience_casual"}}
    >>> [f"{fact.dimension}={fact.value}" for fact in parse(Candidate(item_id="p1", metadata=place))]
    ['category=thai', 'city=Reno', 'ambience=casual']
    """
    folded = text.fold_keys(candidate.metadata)
    traits = text.traits_of(folded)
    return text.facts(
        ("category", _categories(folded), 10),
        ("price", _price(folded, traits), 1),
        ("city", [text.name(value) for key in ("city", "state") if isinstance(value := folded.get(key), str)], 1),
        ("area", _areas(folded), 2),
        ("ambience", _chosen("ambience", folded, traits), 4),
        ("meal", _chosen("meal", folded, traits), 4),
        ("rating", ("highly rated",) if _stars(folded) >= HIGHLY_RATED else (), 1),
    )


def _categories(folded: Mapping[str, Any]) -> list[str]:
    labels = [text.label(raw) for raw in text.values_of(folded, "category")]
    labels = [_WORDS["rejoined"].get(label, label) for label in labels if label not in _DROPPED]
    return sorted(labels, key=_ROOTS.__contains__)


def _price(folded: Mapping[str, Any], traits: Mapping[str, Any]) -> Iterator[str]:
    for value in (source.get(key) for source in (traits, folded) for key in text.KEYS["price"]):
        raw = str(value)[:12].strip("u'\" ") if isinstance(value, str | int) else ""
        if _TIER.fullmatch(raw):
            yield raw if raw[0] == "$" else "$" * int(raw)


def _areas(folded: Mapping[str, Any]) -> Iterator[str]:
    # A part of the city, because most people go out within a few kilometres.
    code = folded.get("postal_code", folded.get("zip"))
    if isinstance(code, str | int) and not isinstance(code, bool):
        yield text.name(str(code)[:12])
    latitude, longitude = _degrees(folded.get("latitude"), 90), _degrees(folded.get("longitude"), 180)
    if latitude is not None and longitude is not None:
        yield f"around {latitude:.2f} {longitude:.2f}"


def _degrees(value: Any, most: int) -> float | None:
    if isinstance(value, str) and _ANGLE.fullmatch(value[:20]):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= most:
        return None
    return round(value / SQUARE_DEGREES) * SQUARE_DEGREES


def _stars(folded: Mapping[str, Any]) -> float:
    value = folded.get("stars", folded.get("rating"))
    if isinstance(value, str) and _STARS.fullmatch(value[:20]):
        return float(value)
    return float(value) if isinstance(value, int | float) and 0 <= value <= TOP_STARS else 0.0


def _chosen(concept: str, folded: Mapping[str, Any], traits: Mapping[str, Any]) -> list[str]:
    # Data sets spell the same attribute in four ways.
    keys = text.KEYS[concept]
    found: set[str] = set()
    for key, value in (*traits.items(), *folded.items()):
        head, dot, word = key.partition(".")
        if head not in keys or not value:
            continue
        if not dot:
            for part in map(str.lower, text.as_list(value)):
                found.update((part, *(joined.rpartition("_")[2] for joined in part.split())))
        elif text.is_true(value):
            found.add(word)
    return [label for label in _WORDS[concept] if label in found or label.replace(" ", "") in found]
