"""Numbers near the name of a document: "the passport? Well, C01X00T47".

`ids` finds those that stand right behind the name. Here there may be a sentence between, so only
numbers in the form of documents count, and none of a price, a measure, a date or an order.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from sager_language.personal.numbers import Span, books, numbers_a_thing, plain
from sager_language.personal.text import digits_in, patterns
from sager_language.text import Lazy

# Characters from the name to the number.
_BEHIND: Final = 90
# Characters from the number to a name that follows it: "C01X00T47 is my passport".
_BEFORE: Final = 40
_FEWEST_DIGITS: Final = 2
_MOST_NAMES: Final = 32

_CODE: Final = Lazy(
    # letters and digits of one piece: C01X00T47, U1A234567K, 533488131
    r"(?<![A-Za-z0-9\u00c0-\u024f])(?:(?P<solid>(?=[A-Za-z]{0,6}\d|\d)(?=(?:[A-Za-z]{0,12}\d){2})[A-Za-z0-9]{6,34})"
    # groups: 45 10 123456, 21/815/05159, 4471-998-ZX, D. L-1234567
    r"|(?P<groups>(?:[A-Z]{1,5}[ .-]?)?\d{1,8}(?:[A-Z]{1,2}\d{1,8})?"
    r"(?:(?:[ ./\u2010-\u2013-]|\s/\s)(?=[A-Z]{0,11}\d|[A-Z]{1,2}(?![A-Z0-9]))[A-Z0-9]{1,12}){1,8}))"
    r"(?![A-Za-z0-9\u00c0-\u024f])"
)
# Of a Russian passport or a Japanese insurance card, which is not a part of its number.
_SERIES: Final = Lazy(r"(?:(?<!\w)сери[яию]:?\s|記号\s?)(?P<series>\d{2}\s?\d{2,6})(?!\d)", re.IGNORECASE)
# Longer than any number that people speak of.
_VERY_LONG: Final = Lazy(r"(?<![\w.,-])\d{16,34}(?![\w.,-]?\d)")
_CODE_DIGITS: Final = 6
_MIXED_DIGITS: Final = 4
_MIXED_SIZE: Final = 7
_GROUPED_DIGITS: Final = 7
_CARD_SIZE: Final = 9
_DATES: Final = Lazy(
    r"(?:(?:1[89]|20)\d\d(?:\W{1,3}(?:(?:1[89]|20)?\d\d))?|\d{1,2}[./-]\d{1,2}[./-](?:\d{2}|\d{4})"
    r"|(?:19|20)\d\d[./-]\d{1,2}[./-]\d{1,2})"
)
_UNIT: Final = Lazy(
    r"\s?(?:[€$£¥₽₺₹%°]|k?m\b|kg\b|km/h|euros?\b|dollars?\b|pounds?\b|usd\b|eur\b|gbp\b|pln\b|zł|\u0440\u0443\u0431|тыс|лет\b|tl\b|lira"
    r"|miles?\b|steps?\b|schritte|pages?\b|seiten|followers?\b|people\b|reais\b|円|元|人|公里|キロ|歩|步|年)",
    re.IGNORECASE,
)
_MONEY: Final = Lazy(r"[€$£¥₽₺₹]\s?$")


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
    listed = "|".join((*patterns("papers-near"), *patterns("papers-both")))
    return re.compile(rf"(?:(?<![^\W_])|(?<=[\u3040-\ud7af]))(?:{listed})", re.IGNORECASE)


def near_papers(text: str) -> Iterator[Span]:
    """Numbers near the name of a paper.

    >>> text = "My passport, which expires next May, has the number C01X00T47; order 4471998 is a cover for it"
    >>> [text[a:b] for a, b in near_papers(text)]
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
        behind = _CODE.match(text, own.end())
        if behind is not None and _is_a_number(text, behind):
            yield behind.span()
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


_FILLER: Final = (
    r"(?:[\s:=#.,()?!°º\uff1f\-\u2013\u2014\"'№]|n[°ºo]|\b(?:n|no|nr|nro|num|number|nummer|numéro|numero|número|numer|номер"
    r"|numaras\u0131|is|was|reads|ist|lautet|est|es|è|é|jest|to|это|my|mein|of|the|id|card|code|meu|mea|este|e|är|er|on|je|az|a|είναι|μου|saya|adalah|là|tôi|của|min|mitt|mit|mon|mi|mio|ul|meine|caf)\b"
    r"|שלי|הוא|من|است|मेरा|号码?|號碼?|番号|번호|是|は|が|은|는|رقم|هو|नंबर|संख्या|है){0,8}"
)
_VALUE: Final = (
    r"(?P<value>(?:[A-Za-z]{1,4}|(?-i:[A-Z]{1,4})[\s./_-]{1,2})?\d[A-Za-z0-9]{0,30}(?:(?:[\s./_#-]|No){1,4}(?=[A-Za-z]{0,3}\d|(?-i:[A-Z]{1,2})\b)"
    r"[A-Za-z0-9]{1,20}){0,8}|[A-Za-z]{1,9}\d[A-Za-z0-9]{3,30})"
)
_PAPERS: Final = "|".join((*patterns("papers"), *patterns("papers-both")))
_NUMBER: Final = Lazy(
    rf"(?:(?<![^\W\d_])|(?<=[\u3040-\ud7af]))(?:{_PAPERS})(?:[^\W\d_]{{0,12}}){_FILLER}{_VALUE}",
    re.IGNORECASE,
)
_PLATE: Final = Lazy(
    rf"(?:(?<![^\W\d_])|(?<=[\u3040-\ud7af]))(?:{'|'.join(patterns('plates'))})(?:[^\W\d_]{{0,2}}){_FILLER}"
    r"(?P<value>[A-ZÄÖÜ\u0410-\u042f0-9]{1,4}(?:[ .·-]?[A-ZÄÖÜ\u0410-\u042f0-9]{1,4}){1,3}"
    r"|[\u4e00-\u9fff][A-Z][ ·]?[A-Z0-9]{5,6})",
    re.IGNORECASE,
)
# As Germany, France and Britain write them, and no title does.
_WRITTEN_PLATE: Final = Lazy(
    r"(?<![\w-])(?:[A-ZÄÖÜ]{1,3}-[A-Z]{1,2} \d{1,4}[EH]?|[A-Z]{2}-\d{3}-[A-Z]{2}|[A-Z]{2}\d{2} [A-Z]{3})(?![\w-])"
)
_FEWEST_LABELLED: Final = 4
_SURE_DIGITS: Final = 6
_LONG: Final = Lazy(r"\d[A-Za-z0-9\s./_-]{2,12}\d")
_YEARS: Final = Lazy(r"(?:1[89]|20)\d\d(?:\W{1,3}(?:(?:1[89]|20)?\d\d))?")


def ids(text: str) -> Iterator[Span]:
    """Numbers behind the name of a paper or a contract.

    >>> [text[a:b] for text in ("Passport no. C01X00T47", "Passport to Pimlico (1949)") for a, b in ids(text)]
    ['C01X00T47']
    """
    if digits_in(text) < 2 or not _LONG.search(text):  # noqa: PLR2004
        return
    of_books = [*books(text)]
    for found in _NUMBER.finditer(plain(text)):
        value = found["value"]
        digits = sum(map(str.isdigit, value))
        size = sum(map(str.isalnum, value))
        is_code = size > _SURE_DIGITS and digits > 1 and re.fullmatch(r"[A-Z0-9]+", value) is not None
        is_long = digits >= _SURE_DIGITS or (digits >= _FEWEST_LABELLED and size > _SURE_DIGITS)
        if not (is_code or is_long) or _YEARS.fullmatch(value):
            continue
        if any(a < found.end("value") and found.start("value") < b for a, b in of_books):
            continue
        if not numbers_a_thing(found.string[: found.start("value")]):
            yield found.span("value")


def plates(text: str) -> Iterator[Span]:
    """Number plates: behind their name, or written as only a plate is."""
    if not digits_in(text):
        return
    text = plain(text)
    for found in _PLATE.finditer(text):
        value = found["value"]
        if any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and not _YEARS.fullmatch(value):
            yield found.span("value")
    yield from (found.span() for found in _WRITTEN_PLATE.finditer(text))
