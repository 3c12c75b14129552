"""Numbers of papers, contracts and plates that their name announces: "passport", "Kennzeichen", "n° de sécu"."""

import re
from collections.abc import Iterator
from typing import Final

from operators.privacy.digits import Span, plain
from operators.privacy.glance import digits_in
from operators.privacy.things import books, numbers_a_thing
from operators.privacy.words import patterns

_FILLER: Final = (
    r"(?:[\s:=#.,()?!°º\uff1f\-\u2013\u2014\"'№]|n[°ºo]|\b(?:n|no|nr|nro|num|number|nummer|numéro|numero|número|numer|номер"
    r"|numaras\u0131|is|was|reads|ist|lautet|est|es|è|é|jest|to|это|my|mein|of|the|id|card|code|meu|mea|este|e|är|er|on|je|az|a|είναι|μου|saya|adalah|là|tôi|của|min|mitt|mit|mon|mi|mio|ul|meine|caf)\b"
    r"|שלי|הוא|من|است|मेरा|号码?|號碼?|番号|번호|是|は|が|은|는|رقم|هو|नंबर|संख्या|है){0,8}"
)
_VALUE: Final = (
    r"(?P<value>(?:[A-Za-z]{1,4}|(?-i:[A-Z]{1,4})[\s./_-]{1,2})?\d[A-Za-z0-9]{0,30}(?:(?:[\s./_#-]|No){1,4}(?=[A-Za-z]{0,3}\d|(?-i:[A-Z]{1,2})\b)"
    r"[A-Za-z0-9]{1,20}){0,8}|[A-Za-z]{1,9}\d[A-Za-z0-9]{3,30})"
)
_NUMBER: Final = re.compile(
    rf"(?:(?<![^\W\d_])|(?<=[\u3040-\ud7af]))(?:{'|'.join(patterns('papers'))})(?:[^\W\d_]{{0,12}}){_FILLER}{_VALUE}",
    re.IGNORECASE,
)
_PLATE: Final = re.compile(
    rf"(?:(?<![^\W\d_])|(?<=[\u3040-\ud7af]))(?:{'|'.join(patterns('plates'))})(?:[^\W\d_]{{0,2}}){_FILLER}"
    r"(?P<value>[A-ZÄÖÜ\u0410-\u042f0-9]{1,4}(?:[ .·-]?[A-ZÄÖÜ\u0410-\u042f0-9]{1,4}){1,3}"
    r"|[\u4e00-\u9fff][A-Z][ ·]?[A-Z0-9]{5,6})",
    re.IGNORECASE,
)
_WRITTEN_PLATE: Final = re.compile(
    r"(?<![\w-])(?:[A-ZÄÖÜ]{1,3}-[A-Z]{1,2} \d{1,4}[EH]?|[A-Z]{2}-\d{3}-[A-Z]{2}|[A-Z]{2}\d{2} [A-Z]{3})(?![\w-])"
)
"""As Germany, France and Britain write them, and nobody a title."""
_FEWEST_DIGITS: Final = 4
_SURE_DIGITS: Final = 6
_LONG: Final = re.compile(r"\d[A-Za-z0-9\s./_-]{2,12}\d")
_YEARS: Final = re.compile(r"(?:1[89]|20)\d\d(?:\W{1,3}(?:(?:1[89]|20)?\d\d))?")


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
        is_long = digits >= _SURE_DIGITS or (digits >= _FEWEST_DIGITS and size > _SURE_DIGITS)
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
