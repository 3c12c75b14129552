"""Text cleaning shared by the domain parsers (paper App. E).

Everything here is pure, bounded, and takes any JSON value without raising.
"""

import ast
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from operators.attributes import normalise
from operators.unicode import nfkc
from schemas import MAX_FACTS, Candidate, Fact

# The longest value of a fact, in characters.
MAX_LABEL: Final = 60
# The longest text in compatibility form that is cleaned.
MAX_CLEANED: Final = 400
# The most values read from one metadata field.
MAX_VALUES: Final = 64
# The longest text that is tried as a Python or JSON literal, in characters.
MAX_LITERAL: Final = 4_096
# The part of a description that is searched for keywords; the paper recovers 300 to 800 characters an item.
MINED_CHARS: Final = 800
MAX_NESTING: Final = 16
MIN_LETTERS: Final = 2
YEARS: Final = range(1000, 2100)
# Labels for missing values.
MISSING: Final = frozenset(
    {"", "n/a", "na", "none", "null", "nan", "unknown", "undefined", "not available", "(no genres listed)", "various"}
)

# The metadata keys under which a concept is found, best first; letter case, spaces and `-` do not matter.
KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "actor": ("actors", "actor", "cast", "starring"),
    "author": ("authors", "author", "written_by"),
    "category": ("categories", "category"),
    "city": ("city",),
    "country": ("country", "countries"),
    "director": ("directors", "director", "directed_by"),
    "genre": ("genres", "genre"),
    "keyword": ("plot_keywords", "keywords", "keyword", "tags", "tag"),
    "meal": ("goodformeal", "good_for_meal", "meals", "meal"),
    "ambience": ("ambience", "ambiance"),
    "price": ("restaurantspricerange2", "price_range", "price_tier", "price"),
    "shelf": ("shelves", "popular_shelves", "shelf"),
    "state": ("state",),
    "year": ("year", "release_year", "publication_year", "release_date", "publication_date", "published"),
}

_TOKENS = re.compile(
    r"""(?: [\[\](){},:\s]
          | u?'(?:[^'\\\n]++|\\[\\'"/nrtbf]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2})*+'
          | u?"(?:[^"\\\n]++|\\[\\'"/nrtbf]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2})*+"
          | -?[0-9]{1,18}(?:\.[0-9]{1,18})?(?=[\s,\])}:])
          | \b(?:True|False|None|true|false|null)\b )*+""",
    re.VERBOSE,
)
_FLAT: Final = {ord(c): " " for c in '-_/.,;:!?()[]{}"*&+|\n\t\r\u2013\u2014\u201c\u201d'} | {
    ord(c): None for c in "'\u2018\u2019"
}
_TAG = re.compile(r"<[^<>]{0,80}>")
_ASIDE = re.compile(r"\([^()]{0,60}\)")
_NO_PERSON = re.compile(r"(?:[A-Z]\. ?)+[A-Z]?|(?i:jr|sr|ii|iii|iv|ph\.?d|m\.?d)\.?")
_YEAR = re.compile(r"(?<!\d)(1[0-9]{3}|20[0-9]{2})(?!\d)")
_TITLE_YEAR = re.compile(r"\((1[0-9]{3}|20[0-9]{2})\)")


def literal(text: str) -> Any:
    """Parse a Python or JSON literal list, tuple or dict; else None.

    Only quoted strings, plain numbers, constants and brackets reach `ast.literal_eval`, under a length cap, so that no
    text can make it warn; nesting is bounded by Python's own tokenizer (200 levels).
    """
    if len(text) > MAX_LITERAL or text.lstrip()[:1] not in ("[", "(", "{"):
        return None
    text = text.strip()
    if _TOKENS.fullmatch(text) is None:
        return None
    for parse in (ast.literal_eval, json.loads):
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return parse(text)
    return None


def as_list(value: Any) -> list[str]:
    """Return the texts of a raw metadata value, at most `MAX_VALUES`.

    A string is a Python or JSON literal, else split at `|`, else at `;`, else at commas. Inside a list a comma
    belongs to the name. A dict gives its `name`, else the keys whose value is true or a positive count. Integers
    count as texts; booleans, floats and nulls do not.

    >>> as_list("Action|Sci-Fi"), as_list("Delis, Sandwiches"), as_list("['Arts, Crafts', 'Home']")
    (['Action', 'Sci-Fi'], ['Delis', 'Sandwiches'], ['Arts, Crafts', 'Home'])
    >>> as_list([{"id": 16, "name": "Animation"}]), as_list({"casual": "True", "divey": False})
    (['Animation'], ['casual'])
    """
    if isinstance(value, str):
        inner = literal(value)
        if inner is None:
            return _split(value)
        value = inner
    return list(islice(_leaves(value), MAX_VALUES))


def _split(raw: str) -> list[str]:
    raw = raw[:MAX_LITERAL].strip("[]{}\t\n ")
    parts = raw.split("|" if "|" in raw else ";" if ";" in raw else ",", MAX_VALUES)
    return [part.strip(" \t\n'\"") for part in parts[:MAX_VALUES]]


def _leaves(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        inner = literal(value) if depth < MAX_NESTING else None
        if inner is not None:
            yield from _leaves(inner, depth + 1)
        elif "|" in value:
            yield from _split(value)
        else:
            yield value[:MAX_LITERAL].strip()
    elif isinstance(value, bool) or depth >= MAX_NESTING:
        return
    elif isinstance(value, int):
        if abs(value) < 10**9:
            yield str(value)
    elif isinstance(value, Mapping):
        named = value.get("name")
        if isinstance(named, str):
            yield named
        else:
            yield from (key for key, flag in value.items() if isinstance(key, str) and is_true(flag))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _leaves(part, depth + 1)


def is_true(value: Any) -> bool:
    """Return true for a set flag: `true`, `"True"`, `"yes"`, a positive count.

    >>> is_true("True"), is_true("u'yes'"), is_true("False"), is_true(3), is_true(None)
    (True, True, False, True, False)
    """
    if isinstance(value, str):
        word = value[:12].strip().removeprefix("u").strip("'\"").lower()
        return word in ("true", "yes", "y") or (word.isdecimal() and word.strip("0") != "")
    return isinstance(value, int | float) and value > 0


def fold_keys(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Fold the metadata's keys: `Plot Keywords`, `plot-keywords` are one."""
    return {_fold(key): value for key, value in metadata.items()}


@lru_cache(maxsize=4_096)
def _fold(key: str) -> str:
    return key.lower().replace(" ", "_").replace("-", "_")


def values_of(folded: Mapping[str, Any], concept: str) -> list[str]:
    """Return the texts of a concept's first non-empty key (`KEYS`)."""
    for key in KEYS[concept]:
        if (value := folded.get(key)) and (texts := as_list(value)):
            return texts
    return []


def traits_of(folded: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nested `attributes`, a dict or its text, with folded keys."""
    raw = folded.get("attributes")
    if isinstance(raw, str):
        raw = literal(raw)
    if not isinstance(raw, Mapping):
        return {}
    return fold_keys({key: value for key, value in raw.items() if isinstance(key, str)})


def name(text: str) -> str:
    """Clean a name, keeping its case, to one line of 60 characters.

    >>> name(" Sofia   Coppola (Director)"), name("N/A"), name("O&#39;Brien")
    ('Sofia Coppola', '', "O'Brien")
    """
    return _clean(_ASIDE.sub(" ", text[:200]) if "(" in text else text[:200])


def proper_name(text: str) -> str:
    """Clean a label with letter case, such as a brand's, keeping asides."""
    return _clean(text[:200])


def label(text: str) -> str:
    """Clean a label to lower case, keeping asides.

    >>> label("American (New)"), label("Kids &amp; Family"), label("</span>"), label("(no genres listed)")
    ('american (new)', 'kids & family', '', '')
    """
    return _clean(text[:200]).lower()[:MAX_LABEL]


@lru_cache(maxsize=16_384)
def _clean(text: str) -> str:
    if "&" in text:
        text = html.unescape(text)
    if not text.isascii():
        text = nfkc(text, MAX_CLEANED)
    if "<" in text:
        text = _TAG.sub(" ", text)
    text = " ".join(text.split())
    if not text.isprintable():
        text = "".join(filter(str.isprintable, text))
    text = text.strip(" ,;:'\"[]{}<>")
    if len(text) > MAX_LABEL:
        text = text[: MAX_LABEL + 1].rpartition(" ")[0].rstrip(" ,;:&") or text[:MAX_LABEL]
    return "" if text.lower() in MISSING else text


def people(texts: Iterable[str], limit: int) -> list[str]:
    """Return the first names of people, without suffixes and initials.

    >>> people(["Robert Downey", "Jr.", "Zoë Wanamaker (voice)"], 3)
    ['Robert Downey', 'Zoë Wanamaker']
    """
    return list(islice(filter(None, (_person(text[:200]) for text in texts)), limit))


@lru_cache(maxsize=16_384)
def _person(text: str) -> str:
    found = name(text)
    return found if sum(map(str.isalpha, found)) >= MIN_LETTERS and not _NO_PERSON.fullmatch(found) else ""


def year(folded: Mapping[str, Any], title: str) -> str:
    """Return the year of the metadata, else of `(1995)` in the title."""
    for key in KEYS["year"]:
        value = folded.get(key)
        if isinstance(value, int) and value in YEARS:
            return str(value)
        if isinstance(value, str) and (found := _YEAR.search(value[:40])):
            return found[1]
    found = _TITLE_YEAR.search(title)
    return found[1] if found else ""


def year_groups(year: str) -> tuple[tuple[str, tuple[str, ...], int], ...]:
    """Return the groups of a year's facts: its era and its releases."""
    if not year:
        return ()
    era = "before 1900" if year < "1900" else f"{year[:3]}0s"
    return ("era", (era,), 1), ("year", (f"{year} releases",), 1)


def description_of(candidate: Candidate) -> str:
    """Return the description, else the metadata's."""
    raw: Any = candidate.description or candidate.metadata.get("description")
    return raw[:MAX_LITERAL] if isinstance(raw, str) else ""


def flatten(text: str) -> str:
    """Flatten text for keyword matching: lower case, single spaces, no apostrophes.

    >>> flatten("Sci-Fi: a Thief's Tale")
    'sci fi a thiefs tale'
    """
    return " ".join(text.lower().translate(_FLAT).split())


@lru_cache(maxsize=16_384)
def _fact(dimension: str, value: str) -> tuple[str, Fact] | None:
    identity = normalise(value)
    return (identity, Fact(dimension=dimension, value=value)) if identity else None


def facts(*groups: tuple[str, Iterable[str], int]) -> tuple[Fact, ...]:
    """Return distinct facts of (dimension, values, limit) groups, at most `MAX_FACTS`."""
    found: dict[tuple[str, str], Fact] = {}
    for dimension, texts, limit in groups:
        room = limit
        for text in texts:
            if room == 0 or len(found) == MAX_FACTS:
                break
            known = _fact(dimension, text[:MAX_LABEL]) if text else None
            if known and (dimension, known[0]) not in found:
                found[dimension, known[0]] = known[1]
                room -= 1
    return tuple(found.values())
