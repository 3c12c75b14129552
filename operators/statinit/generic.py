"""Any domain: structured attributes only, never mined words (paper App. E).

| metadata value | facts |
|---|---|
| short string (60 characters, 8 words) | one; a list literal or `a|b` one each; a known list key splits at commas |
| list, tuple | one for each entry that is a short string or an integer of at most four digits |
| integer from 0 to 5 | one; larger ones are numbers (`measures`) |
| `true` | `feature = <key>`; `false` gives none |
| dict | its `name`, or its keys that are true or counted |
| float, long text, null | none |

The dimension is the key in snake_case (`Cook Time` is `cook_time`), plurals and synonyms of `text.KEYS` under one
name (`genres` is `genre`). Keys that name the item or a place to find it (`id`, `url`, `phone`, ...) are left out.
At most 6 values a key, fewer when there are many keys, so that none crowds the others out.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from operators.numbers import Numbers
from operators.statinit import text
from schemas import MAX_FACTS, Candidate, Fact

FEATURE: Final = "feature"
MAX_WORDS: Final = 8
MAX_COUNT: Final = 5
# Values kept per key: the first that lets all keys in.
LIMITS: Final = (6, 4, 2, 1)
DIMENSION_OF: Final[Mapping[str, str]] = {key: concept for concept, keys in text.KEYS.items() for key in keys}
# Dimensions whose string is a comma separated list.
LISTS: Final = frozenset({"actor", "ambience", "author", "category", "director", "genre", "keyword", "meal", "shelf"})
EXCLUDED_KEYS: Final = re.compile(
    r"(?:.*_)?(?:id|ids|uuid|url|uri|link|image|images|img|thumbnail|phone|email|address|asin|isbn\w*|sku|ean|upc|barcode"
    r"|zip|zipcode|postal_code|postcode|latitude|longitude|lat|lon|lng|hash|slug|timestamp|created_at|updated_at)"
    r"|title|name|description|summary|overview|abstract|text|body|content|review\w*|plot|synopsis"
)
_MAX_CODE: Final = 1e15
_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_NAMES = frozenset({"actor", "author", "director", "city", "country", "state"})
# Dimensions whose values keep capitals and asides.
_PROPER = frozenset({"artist", "band", "brand", "composer", "designer", "manufacturer", "publisher", "studio"})


def parse(candidate: Candidate) -> tuple[Fact, ...]:
    """Read the facts of structured metadata, in the keys' order.

    >>> gadget = {"Brand": "Okapi", "colours": ["Red", "Teal"], "inStock": True, "weight": 1.25, "sku": "X-9"}
    >>> [f"{fact.dimension}={fact.value}" for fact in parse(Candidate(item_id="g1", metadata=gadget))]
    ['brand=Okapi', 'colours=red', 'colours=teal', 'feature=in stock']
    """
    groups: dict[str, list[str]] = {}
    for key, value in sorted(candidate.metadata.items()):
        dimension = dimension_of(key)
        if dimension and value is True:
            groups.setdefault(FEATURE, []).append(dimension.replace("_", " "))
        elif dimension and (labels := _labels(dimension, value)):
            groups.setdefault(dimension, []).extend(labels)
    limit = next((n for n in LIMITS if sum(min(n, len(found)) for found in groups.values()) <= MAX_FACTS), 1)
    return text.facts(*((dimension, found, limit) for dimension, found in groups.items()))


@lru_cache(maxsize=1_024)
def dimension_of(key: str) -> str:
    """Return the dimension of a metadata key, "" for none.

    >>> dimension_of("Cook Time"), dimension_of("genres"), dimension_of("image_url"), dimension_of("2nd")
    ('cook_time', 'genre', '', '')
    """
    snake = _WORD_BREAK.sub("_", key[:120]).strip("_").lower()
    snake = DIMENSION_OF.get(snake, snake)
    fits = re.fullmatch(r"[a-z][a-z0-9_]{0,39}", snake) and not EXCLUDED_KEYS.fullmatch(snake)
    return snake if fits else ""


def with_codes(candidate: Candidate, numbers: Numbers) -> Candidate:
    """Return the item with its declared codes as text, so that they are facts and no numbers.

    >>> from operators.numbers import DeclaredNumber
    >>> train = Candidate(item_id="t1", metadata={"line": 35, "price": 29})
    >>> with_codes(train, {"line": DeclaredNumber(code=True)}).metadata
    {'line': 'line 35', 'price': 29}
    """
    if not (codes := {name for name, number in numbers.items() if number.code}):
        return candidate
    metadata = {
        key: f"{name.replace('_', ' ')} {value:.15g}"
        for key, value in candidate.metadata.items()
        if (name := dimension_of(key)) in codes and type(value) in (int, float) and abs(value) < _MAX_CODE
    }
    return candidate.model_copy(update={"metadata": {**candidate.metadata, **metadata}}) if metadata else candidate


def _labels(dimension: str, value: Any) -> list[str]:
    # Larger integers are numbers only; a small one may be a count, a grade or a code as well.
    if isinstance(value, bool | float) or value is None or (isinstance(value, int) and not 0 <= value <= MAX_COUNT):
        return []
    if isinstance(value, str) and "|" not in value and dimension not in LISTS and text.literal(value) is None:
        raw = [value] if len(value) <= text.MAX_LABEL else []
    else:
        raw = text.as_list(value)
    clean = text.name if dimension in _NAMES else text.proper_name if dimension in _PROPER else text.label
    return [label for part in raw if _is_short(part) and (label := clean(part))]


def _is_short(part: str) -> bool:
    digits = part.lstrip("-").isdecimal()
    return len(part) <= (4 if digits else text.MAX_LABEL) and part.count(" ") < MAX_WORDS
