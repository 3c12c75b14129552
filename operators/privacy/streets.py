"""A finder of streets with a number: it yields spans of a text, in bounded time."""

import re
from collections.abc import Iterator
from typing import Final

from operators.privacy.digits import Span
from operators.privacy.glance import digits_in
from operators.privacy.words import patterns

_WORD: Final = r"[^\W\d_][\w'\u2019.-]{0,30}"
_SURE_STREET: Final = re.compile("|".join(patterns("street-sure")).replace("{word}", _WORD), re.IGNORECASE)
_STREET: Final = re.compile(
    r"\b\d{1,5}[A-Za-z]?\s(?:"
    + _WORD
    + r"\s){1,4}?(?:street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd|court"
    r"|ct|place|square|terrace|way|close|row|green|gardens|crescent|mews|grove|walk|gate|hill|rise|parade|wharf)\b\.?"
    r"|\b\d{1,4}(?:\s?(?:bis|ter))?,?\s(?:rue|avenue|boulevard|place|chemin|impasse|allée|quai)(?:\s"
    + _WORD
    + r"){1,4}"
    r"|\b(?:calle|avenida|avda\.|plaza|paseo|via|viale|piazza|corso|rua|travessa|شارع)(?:\s" + _WORD + r"){1,5}?,?\s"
    r"(?:n[ºo°]\.?\s?|número\s)?\d{1,4}\b"
    # "Ahornweg 4", which is a street where somebody lives in it
    r"|\b(?-i:[A-ZÄÖÜ])[\wäöüß-]{2,30}(?:weg|platz|ring|damm|ufer|steig|chaussee|hof|markt|graben|kade|dijk|singel|dreef|plein|steeg)\s"
    r"\d{1,4}(?:\s?[a-z]\b)?",
    re.IGNORECASE,
)
_LIVES: Final = re.compile(rf"(?:{'|'.join(patterns('lives'))})[^\n]{{0,40}}$", re.IGNORECASE)
_UPPER: Final = r"(?-i:[A-ZÀ-ÖØ-ÞĀ-Ž\u0370-\u03ab\u0410-\u042f])"
_HOME: Final = re.compile(
    rf"(?<!\w)(?:{'|'.join(patterns('home'))})(?!\w)[^\n\d!?]{{0,40}}?(?P<street>"
    # "Am Mühlbach 7", "улице Садовой, дом 9": a capitalised name and its number, no "in Berlin, 3 films"
    rf"{_UPPER}[\w'\u2019.-]{{1,30}}(?:\s{_WORD}){{0,2}},?\s(?:n[ºo°]?\.?\s?|д\.?\s?|дом\s|no:?\s?|č\.\s?)?\d{{1,4}}"
    r"(?:\s?[A-Za-z](?!\w)|[-/]\d{1,4})?(?![\w.:]?\d)(?!\s(?!(?:daire|dpto|depto|dept|bât|suite|unit|lgh|hinterhaus|vorderhaus|aufgang|links|rechts|bajo|planta|puerta|esc|izda|dcha|int|scala|lok|byt|корп|стр|под|stock|tr|hs|flat|apt|apto|whg|og|etage|étage|piso|interno|кв)\b)[^\W\d_]{3,})"
    # "9 Thistle Row", "8 bis, impasse du Four"
    rf"|\d{{1,5}}[A-Za-z]?(?:\s(?:bis|ter))?,?\s{_UPPER}[\w'\u2019-]{{1,30}}\s{_UPPER}[\w'\u2019-]{{1,30}})",
    re.IGNORECASE,
)
_POST: Final = re.compile(
    r"\s?,\s?(?:"
    + _WORD
    + r"\s?,?\s?){0,3}\d{4,6}\b|\s?,\s?\d{4,6}\s"
    + _WORD
    + r"|\s?,\s?(?:"
    + _WORD
    + r"\s?,?\s?){0,3}(?-i:[A-Z]{1,2}\d[A-Z\d]?\s\d[A-Z]{2}\b)"
)


_BESIDE: Final = re.compile(
    r"\[address\](?:,\s?|\s)(?:(?:in|à|en|em|a|te|w|в|i)\s)?(?P<code>\d{4,6}|\d{2}-\d{3}|\d{4}-\d{3})(?![\d.,]?\d)(?=\s(?-i:[A-ZÀ-ÖØ-ÞĀ-Ž\u0410-\u042f])|[,.]|$)"
)
"""A postal code beside a street that is a placeholder by now."""


def streets(text: str) -> Iterator[Span]:
    """Whatever looks like a street with a number: in what is said of a person it is an address."""
    if digits_in(text):
        yield from (found.span() for found in _STREET.finditer(text))


def addresses(text: str) -> Iterator[Span]:
    """Streets with a number.

    Where a title may look so (`84 Charing Cross Road`), only with a postal code or a word for living there.
    """
    if not digits_in(text):
        return
    yield from (found.span() for found in _SURE_STREET.finditer(text))
    yield from (found.span("code") for found in _BESIDE.finditer(text))
    yield from (found.span("street") for found in _HOME.finditer(text))
    for found in _STREET.finditer(text):
        post = _POST.match(text, found.end())
        if post or _LIVES.search(text, max(0, found.start() - 60), found.start()):
            yield found.start(), (post or found).end()
