"""Numbers of things, which tell nobody: those that stand behind "order number", "ISBN", "model"; books."""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Final

from operators.privacy.digits import Span
from operators.privacy.words import patterns

_BOOK: Final = re.compile(
    r"(?P<called>\bISBN[\s:-]{0,3})?(?<!\d)(?P<number>97[89](?:[- ]?\d){10})(?![\d-])", re.IGNORECASE
)


@cache
def _things() -> re.Pattern[str]:
    listed = "|".join(patterns("numbers-harmless"))
    return re.compile(
        rf"(?:(?<![^\W_])|(?<=[\u3040-\ud7af]))(?:{listed})"
        r"[\s:#.,]{0,3}(?:(?:n[°ºo]|no|nr|number|nummer|numero|número|numéro|nummer|numer|numaras\u0131|код|номер|番号|编号|号|번호|क्रमांक)"
        r"[\s:#.]{0,3})?(?:(?:is|ist|est|es|è|é|to|は|是)\s?)?$",
        re.IGNORECASE,
    )


def numbers_a_thing(before: str) -> bool:
    """Whether what ends here says that the number behind it is a thing's.

    >>> numbers_a_thing("My order number "), numbers_a_thing("in order to call ")
    (True, False)
    """
    return _things().search(before[-48:]) is not None


_ORDERED: Final = re.compile(
    r"\s?(?:numaral\u0131|nolu|no'lu)\s(?:sipariş|ürün|hat|otobüs|uçuş|bilet)|\s?번\s?(?:주문|버스)|\s?号(?:订单|公交|商品)",
    re.IGNORECASE,
)


def is_ordered(text: str, end: int) -> bool:
    """Whether the number that ends here is a thing's by what follows it.

    >>> is_ordered("48291 nolu sipariş", 5), is_ordered("48291 nolu pasaport", 5)
    (True, False)
    """
    return _ORDERED.match(text, end) is not None


def books(text: str) -> Iterator[Span]:
    """Numbers of books, with the check digit of one."""
    if "978" in text or "979" in text:
        for found in _BOOK.finditer(text):
            if found["called"] or import_module("stdnum.isbn").is_valid(re.sub(r"\D", "", found["number"])):
                yield found.span()
