"""Numbers near the name of a paper or an account, in whatever words they are told: "the passport? Well, C01X00T47".

`operators.privacy.labelled` finds those that stand right behind the name. Here there may be a sentence between, so only
what is written as a number of a paper counts, and none that a price, a measure, a date or an order has.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from operators.privacy.digits import Span, plain
from operators.privacy.glance import digits_in
from operators.privacy.things import books, numbers_a_thing
from operators.privacy.words import patterns

_BEHIND: Final = 90
"""Characters from the name to the number."""
_BEFORE: Final = 40
"""Characters from the number to a name that follows it: "C01X00T47 is my passport"."""
_FEWEST_DIGITS: Final = 2
_MOST_NAMES: Final = 32

_CODE: Final = re.compile(
    # letters and digits of one piece: C01X00T47, U1A234567K, 533488131
    r"(?<![A-Za-z0-9\u00c0-\u024f])(?:(?P<solid>(?=[A-Za-z]{0,6}\d|\d)(?=(?:[A-Za-z]{0,12}\d){2})[A-Za-z0-9]{6,34})"
    # groups: 45 10 123456, 21/815/05159, 4471-998-ZX, D. L-1234567
    r"|(?P<groups>(?:[A-Z]{1,5}[ .-]?)?\d{1,8}(?:[A-Z]{1,2}\d{1,8})?"
    r"(?:(?:[ ./\u2010-\u2013-]|\s/\s)(?=[A-Z]{0,11}\d|[A-Z]{1,2}(?![A-Z0-9]))[A-Z0-9]{1,12}){1,8}))"
    r"(?![A-Za-z0-9\u00c0-\u024f])"
)
_SERIES: Final = re.compile(r"(?:(?<!\w)сери[яию]:?\s|記号\s?)(?P<series>\d{2}\s?\d{2,6})(?!\d)", re.IGNORECASE)
"""Of a Russian passport or a Japanese insurance card, which is told apart from its number."""
_VERY_LONG: Final = re.compile(r"(?<![\w.,-])\d{16,34}(?![\w.,-]?\d)")
"""Longer than any number that people speak of."""
_CODE_DIGITS: Final = 6
_MIXED_DIGITS: Final = 4
_MIXED_SIZE: Final = 7
_GROUPED_DIGITS: Final = 7
_CARD_SIZE: Final = 9
_DATES: Final = re.compile(
    r"(?:(?:1[89]|20)\d\d(?:\W{1,3}(?:(?:1[89]|20)?\d\d))?|\d{1,2}[./-]\d{1,2}[./-](?:\d{2}|\d{4})"
    r"|(?:19|20)\d\d[./-]\d{1,2}[./-]\d{1,2})"
)
_UNIT: Final = re.compile(
    r"\s?(?:[€$£¥₽₺₹%°]|k?m\b|kg\b|km/h|euros?\b|dollars?\b|pounds?\b|usd\b|eur\b|gbp\b|pln\b|zł|\u0440\u0443\u0431|тыс|лет\b|tl\b|lira"
    r"|miles?\b|steps?\b|schritte|pages?\b|seiten|followers?\b|people\b|reais\b|円|元|人|公里|キロ|歩|步|年)",
    re.IGNORECASE,
)
_MONEY: Final = re.compile(r"[€$£¥₽₺₹]\s?$")


@cache
def _own() -> re.Pattern[str]:
    listed = "|".join(patterns("numbers-own"))
    return re.compile(
        rf"(?:(?<![^\W_])|(?<=[\u3040-\ud7af]))(?:{listed})[\s:=#]{{0,3}}(?:(?:is|ist|lautet|est|c'est|es|è|é|to|это|jest|هو|は|是|为)"
        r"[\s:]{0,2})?(?=[A-Z0-9])",
        re.IGNORECASE,
    )


@cache
def _names() -> re.Pattern[str]:
    listed = "|".join(patterns("papers-near"))
    return re.compile(rf"(?:(?<![^\W_])|(?<=[\u3040-\ud7af]))(?:{listed})", re.IGNORECASE)


def near_papers(text: str) -> Iterator[Span]:
    """Numbers near the name of a paper.

    >>> said = "My passport, which expires next May, has the number C01X00T47; order 4471998 is a cover for it"
    >>> [said[a:b] for a, b in near_papers(said)]
    ['C01X00T47']
    """
    if digits_in(text) < _FEWEST_DIGITS:
        return
    text = plain(text)
    of_books = [*books(text)]
    taken = 0
    yield from (found.span("series") for found in _SERIES.finditer(text))
    for code in _VERY_LONG.finditer(text):
        if not numbers_a_thing(text[: code.start()]):
            yield code.span()
    for own in _own().finditer(text):
        told = _CODE.match(text, own.end())
        if told is not None and _is_a_number(text, told):
            yield told.span()
    names = [found.span() for found in _names().finditer(text)][:_MOST_NAMES]
    if not names:
        return
    for code in _CODE.finditer(text):
        start, end = code.span()
        is_near = any(b <= start <= b + _BEHIND or end <= a <= end + _BEFORE for a, b in names)
        is_book = any(a < end and start < b for a, b in of_books)
        if start >= taken and is_near and not is_book and _is_a_number(text, code):
            yield start, end
            taken = end


def _is_a_number(text: str, code: re.Match[str]) -> bool:
    value = code[0]
    digits = sum(map(str.isdigit, value))
    size = sum(map(str.isalnum, value))
    if code["solid"]:
        letters = size - digits
        is_long = digits >= _CODE_DIGITS if not letters else digits >= _MIXED_DIGITS and size >= _MIXED_SIZE
        # "X4RTBPFW4", as the identity cards of the European Union have it.
        is_long = is_long or (letters > 0 and size == _CARD_SIZE and value.isupper())
    else:
        fewest = _MIXED_DIGITS if size > _CARD_SIZE and size > digits + 2 else _CODE_DIGITS
        is_long = digits >= _GROUPED_DIGITS or (digits >= fewest and size > digits)
    if not is_long or _DATES.fullmatch(value) or _UNIT.match(text, code.end()):
        return False
    before = text[max(0, code.start() - 40) : code.start()]
    return not (_MONEY.search(before) or numbers_a_thing(before))
