"""Cards, accounts and identity numbers, by issuers' forms and check digits.

A form that many other numbers have too counts only as its country writes it, or behind its name
(`papers`).
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib import import_module
from itertools import pairwise
from typing import Final

from sager_language.personal.text import digits_in, patterns
from sager_language.text import Lazy

Span = tuple[int, int]

# Numbers in one text that are looked up; a person's message has one or two.
MOST_LOOKS: Final = 128
FEWEST: Final = 8
# The longest number: an IBAN.
MOST: Final = 34

# Digits as Chinese and Japanese write them out, so many in a row that they count nothing.
IDEOGRAPHS: Final = Lazy("[\u3007零一二三四五六七八九0-9]{6,}")
_IDEOGRAPHS: Final = str.maketrans("〇零一二三四五六七八九", "00123456789")
# Letters before many digits may be a word that ran into them: `card4111...`.
_GROUP: Final = Lazy(r"[A-Za-z]{1,12}(?=\d{9})|[A-Za-z0-9]{1,40}")
_BETWEEN: Final = Lazy(r"(?:[^\w\n]|_){0,3}")
# The letter behind the country and the check digits of an Italian IBAN parts nothing.
_CROSS: Final = Lazy(r"(?<![A-Za-z]{2}\d\d)(?<=\d)[xX*](?=\d)")
_LETTERS: Final = {**dict.fromkeys(map(ord, "0123456789"), "9"), **dict.fromkeys(range(65, 91), "A")}
_LONGEST_NEIGHBOUR: Final = 6


@dataclass(frozen=True, slots=True)
class Number:
    """Neighbouring groups of digits, and of letters of a number.

    Attributes:
        start, end: where it stands.
        groups: as written, in capitals.
        between: the signs between them, without spaces where there are others.
        shape: the groups joined, `A` for each letter and `9` for each digit.
    """

    start: int
    end: int
    groups: tuple[str, ...]
    between: tuple[str, ...]
    shape: str

    @property
    def compact(self) -> str:
        """The groups without what stands between."""
        return "".join(self.groups)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The length of each group."""
        return tuple(map(len, self.groups))

    @property
    def is_even(self) -> bool:
        """Return True if the same separator is between all groups."""
        return len(set(self.between)) <= 1


def plain(text: str) -> str:
    """Return the text with the digits of every script in ASCII.

    >>> plain("٤١١١ १२")
    '4111 12'
    """
    if not text.isascii():
        text = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
        text = IDEOGRAPHS.sub(lambda run: run[0].translate(_IDEOGRAPHS), text)
    return _CROSS.sub("-", text)


def numbers(text: str, is_known: Callable[[str], bool]) -> Iterator[Number]:
    """Runs of whole groups with 8 to 34 characters, the longest first.

    >>> [number.compact for number in numbers("call 4111.1111", lambda shape: "A" not in shape)]
    ['41111111']
    """
    found = list(_GROUP.finditer(text))
    groups = [group[0].upper() for group in found]
    shapes = [group.translate(_LETTERS) for group in groups]
    gaps = [text[a.end() : b.start()] for a, b in pairwise(found)]
    for first, shape in enumerate(shapes):
        if "9" not in shape and not (
            len(shape) <= _LONGEST_NEIGHBOUR and first + 1 < len(shapes) and shapes[first + 1][0] == "9"
        ):
            continue
        for last, joined in reversed(list(_runs(shapes, gaps, first))):
            if is_known(joined):
                between = tuple(gap.strip() or " " for gap in gaps[first:last] if gap)
                start, end = found[first].start(), found[last].end()
                yield Number(start, end, tuple(groups[first : last + 1]), between, joined)


def _runs(shapes: list[str], gaps: list[str], first: int) -> Iterator[tuple[int, str]]:
    joined = ""
    for last in range(first, min(len(shapes), first + MOST)):
        if last > first and not gaps[last - 1].isspace() and not _BETWEEN.fullmatch(gaps[last - 1]):
            return
        joined += shapes[last]
        if len(joined) > MOST:
            return
        if len(joined) >= FEWEST:
            yield last, joined


_BOOK: Final = Lazy(r"(?P<called>\bISBN[\s:-]{0,3})?(?<!\d)(?P<number>97[89](?:[- ]?\d){10})(?![\d-])", re.IGNORECASE)


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
    """Return True if the text before shows a thing's number.

    >>> numbers_a_thing("My order number "), numbers_a_thing("in order to call ")
    (True, False)
    """
    return _things().search(before[-48:]) is not None


_ORDERED: Final = Lazy(
    r"\s?(?:numaral\u0131|nolu|no'lu)\s(?:sipariş|ürün|hat|otobüs|uçuş|bilet)|\s?번\s?(?:주문|버스)|\s?号(?:订单|公交|商品)",
    re.IGNORECASE,
)


def is_ordered(text: str, end: int) -> bool:
    """Return True if the text behind shows a thing's number.

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


CARD: Final = "card"
IBAN: Final = "iban"
ID: Final = "id-number"

_CARD_STARTS: Final = Lazy(r"4|5[1-5]|2[2-7]|3[47]|3[068]|6[0245]|62|35")
_CARD_GROUPS: Final = frozenset({(4, 4, 4, 4), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 3), (6, 13), (8, 8)})
_IBAN: Final = Lazy(r"AA99[A9]{11,30}")
_ONE_GROUPS: Final = frozenset({(3, 3, 3, 2), (2, 3, 3, 3), (1, 2, 2, 2, 3, 3, 2)})
_TOO_MANY: Final = 4
_FEWEST_DIGITS: Final = 4
_LONG_NUMBER: Final = 9


def _valid(module: str, number: Number) -> bool:
    # Slow to import, and most texts have no number.
    return bool(import_module(f"stdnum.{module}").is_valid(number.compact))


def _card(number: Number) -> bool:
    if number.between == (".",):  # a decimal number
        return False
    grouped = number.is_even or number.lengths in _CARD_GROUPS
    return grouped and _CARD_STARTS.match(number.compact) is not None and _valid("luhn", number)


def _iban(number: Number) -> bool:
    return bool(import_module("stdnum.iban").is_valid(number.compact, check_country=False))


def _polish(number: Number) -> bool:
    return bool(import_module("stdnum.iban").is_valid(f"PL{number.compact}", check_country=False))


def _written(*groups: int, by: str = " -./_") -> Callable[[Number], bool]:
    return lambda number: number.lengths == groups and number.is_even and all(sign in by for sign in number.between)


def _and(*checks: Callable[[Number], bool]) -> Callable[[Number], bool]:
    return lambda number: all(check(number) for check in checks)


def _stdnum(module: str) -> Callable[[Number], bool]:
    return partial(_valid, module)


def _matches(pattern: str) -> Callable[[Number], bool]:
    compiled = re.compile(pattern)
    return lambda number: compiled.fullmatch(number.compact) is not None


def _one(number: Number) -> bool:
    return number.is_even or number.lengths in _ONE_GROUPS


_ELEVEN: Final = (
    "de.idnr", "br.cpf", "pl.pesel", "tr.tckimlik", "be.nn", "no.fodselsnummer", "gr.amka", "hr.oib", "ee.ik",
)  # fmt: skip
# What a number of this shape may be, and how that shows.
_SHAPES: Final[dict[str, tuple[tuple[str, Callable[[Number], bool]], ...]]] = {
    "9" * 26: ((IBAN, _polish),),
    "9" * 19: ((CARD, _card),),
    "9" * 16: ((CARD, _card),),
    "9" * 15: ((CARD, _card), (ID, _and(_one, _stdnum("fr.nir")))),
    "9" * 14: ((CARD, _card),),
    "9" * 13: (
        (ID, _and(_written(6, 7), _matches(r"\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])[0-9]{7}"))),  # Korea
        (ID, _and(_written(3, 4, 4, 2), _stdnum("ch.ssn"))),
        (ID, _and(_written(1, 4, 5, 2, 1), _stdnum("th.pin"))),
        (ID, _and(_written(6, 4, 3), _stdnum("za.idnr"))),
        (ID, _and(_written(6, 4, 2, 1), _stdnum("za.idnr"))),
        (ID, _and(_written(13), _stdnum("ro.cnp"), _matches(r"[1-8]\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])\d{6}"))),
    ),
    "9" * 12: (
        (ID, _and(_written(4, 4, 4, by=" -"), _stdnum("in_.aadhaar"))),
        (ID, _and(_written(8, 4), _matches(r"(19|20)\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])\d{4}"))),  # Sweden
        (ID, _and(_written(6, 2, 4), _stdnum("my.nric"))),
    ),
    "9" * 11: (
        *((ID, _and(_one, _stdnum(module))) for module in _ELEVEN),
        (ID, _written(3, 3, 3, 2, by="-. ")),  # Russia, Brazil
        (ID, _and(_written(6, 5), _matches(r"([0-2]\d|3[01])(0[1-9]|1[0-2])\d{7}"))),
        (ID, _and(_written(2, 8, 1, by="-"), _stdnum("ar.cuit"))),
    ),
    "9" * 10: (
        (
            ID,
            _and(
                _written(6, 4, by="-+/"), _matches(r"\d\d([0-2]\d|3[01]|[4-9]\d)\d{6}|([0-2]\d|3[01])(0\d|1[0-2])\d{6}")
            ),
        ),
        (ID, _and(_written(3, 3, 4, by=" "), _stdnum("gb.nhs"))),
        (ID, _and(_written(4, 6, by=" "), _stdnum("at.vnr"))),
    ),
    "9" * 9: (
        (ID, _and(_written(3, 2, 4, by="- ._/"), _matches(r"(?!000|666)[0-8]\d{2}(?!00)\d{2}(?!0000)\d{4}|9\d{8}"))),
        (ID, _and(_written(3, 3, 3, by="-"), _stdnum("luhn"))),  # Canada
        (ID, _and(_written(2, 3, 3, 1, by="."), _stdnum("cl.rut"))),
    ),
    "99999999A": ((ID, _stdnum("es.dni")), (ID, _and(_written(2, 3, 3, 1), _stdnum("cl.rut")))),
    "9999999A": ((ID, _stdnum("ie.pps")),),
    "9999999AA": ((ID, _stdnum("ie.pps")),),
    "A9999999A": ((ID, _stdnum("es.nie")), (ID, _matches(r"[STFGM]\d{7}[A-Z]"))),
    "AA999999A": ((ID, _matches(r"[A-CEGHJ-PR-TW-ZQ][A-CEGHJ-NPR-TW-ZQ]\d{6}[A-D]")),),
    "AAAAAA99A99A999A": ((ID, _matches(r"[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z]")),),
    "AAAAA9999A": ((ID, _matches(r"[A-Z]{3}[ABCFGHJLPTK][A-Z]\d{4}[A-Z]")),),
    "AAAA999999AAAAAA99": ((ID, _stdnum("mx.curp")),),
    "AAAA999999AAAAAAA9": ((ID, _stdnum("mx.curp")),),
    "9" * 17 + "A": ((ID, _stdnum("cn.ric")),),
    "9" * 18: ((ID, _and(_one, _stdnum("cn.ric"))),),
    "99999A999999999": ((ID, _stdnum("fr.nir")),),
    "999999999A": ((ID, _and(_written(6, 4, by="-+"), _stdnum("fi.hetu"))),),
    "999999A999A": ((ID, _stdnum("fi.hetu")),),
}


def _is_known(shape: str) -> bool:
    return shape in _SHAPES or (shape.startswith("AA99") and _IBAN.fullmatch(shape) is not None)


@lru_cache(maxsize=16)
def _found(text: str) -> tuple[tuple[str, int, int], ...]:
    return tuple(_find(plain(text)))


def _find(text: str) -> Iterator[tuple[str, int, int]]:
    looks = taken = 0
    of_books = tuple(books(text))
    for number in numbers(text, _is_known):
        if number.start < taken or any(a <= number.start and number.end <= b for a, b in of_books):
            continue
        checks = _SHAPES.get(number.shape, ())
        if not checks and _IBAN.fullmatch(number.shape):
            checks = ((IBAN, _iban),)
        for kind, check in checks:
            looks += 1
            # A hostile text may have too many numbers to check; the rest of them counts as found.
            if looks > _TOO_MANY * MOST_LOOKS or (check(number) and not _is_of_a_thing(kind, text, number)):
                yield kind, number.start, number.end
                taken = number.end
                break


def _is_of_a_thing(kind: str, text: str, number: Number) -> bool:
    return kind == ID and (
        numbers_a_thing(text[max(0, number.start - 48) : number.start]) or is_ordered(text, number.end)
    )


def numbered(kind: str, text: str) -> Iterator[Span]:
    """The places of the numbers of this kind.

    >>> list(numbered("card", "card 4111.1111.1111.1111"))
    [(5, 24)]
    """
    if digits_in(text) >= _FEWEST_DIGITS:
        yield from ((start, end) for found, start, end in _found(text) if found == kind)


_BARE: Final = Lazy(r"[+(]?\d(?:[\s()._/-]?\d){8,30}")
_TOLL_FREE: Final = Lazy(r"(?:1\W?)?\(?(?:800|888|877|866|855|844|833|900)\b.*|0\s?[89]00\b.*")
_DAYS: Final = Lazy(r"(?:\d{4}\W\d\d?\W\d\d?|\d\d?\W\d\d?\W\d{4}|\d{4}|\W|[T:]|\d\d)+")


def is_bare(text: str) -> bool:
    """Return True if a fact is only a long number.

    >>> is_bare("234123412346"), is_bare("9783161484100"), is_bare("1-800-273-8255"), is_bare("2001-2004-2007")
    (True, False, False, False)
    """
    if digits_in(text) < _LONG_NUMBER or not _BARE.fullmatch(plain(text)) or _TOLL_FREE.fullmatch(text):
        return False
    digits = re.sub(r"\D", "", plain(text))
    is_list = re.search(r"\W", text) is not None and _DAYS.fullmatch(text) is not None
    return not (
        is_list or import_module("stdnum.ean").is_valid(digits) or import_module("stdnum.isbn").is_valid(digits)
    )
