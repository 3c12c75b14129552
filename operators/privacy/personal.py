"""Finders of identifying data and credentials: each yields spans of a text, in bounded time.

The text is as `reading.seen` gives it. Where a hostile text holds more numbers than are worth a look, what is left
of them counts as found: a filter that gives up must not let through.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from operators.privacy.words import patterns

Span = tuple[int, int]

_MOST_LOOKS: Final = 32
"""Numbers in one text that are looked up; a person's message has one or two."""

# --- e-mail

_EMAIL: Final = re.compile(
    r"(?<![\w.+%-])[\w.+%-]{1,64}(?:@|[ ]?[(\[{][ ]?(?:at|@|arroba|chiocciola)[ ]?[)\]}][ ]?)"
    r"(?:[\w-]{1,63}(?:\.|[ ]?[(\[{][ ]?(?:dot|punkt|punto|point)[ ]?[)\]}][ ]?)){1,6}\w{2,24}"
    r"|(?<![\w.+%-])[\w.+%-]{1,64} at [\w-]{1,63} dot (?:com|org|net|de|fr|es|it|io|co)\b",
    re.IGNORECASE,
)


def emails(text: str) -> Iterator[Span]:
    """Addresses, also ones spelled with (at) and (dot)."""
    if "@" in text or re.search(r"[(\[{] ?(?:at|arroba|chiocciola) ?[)\]}]| at [\w-]{1,63} dot ", text, re.IGNORECASE):
        yield from (found.span() for found in _EMAIL.finditer(text))


# --- numbers

_RUN: Final = re.compile(r"(?<![\w])\d(?:[ .-]?\d){11,70}")
_CARD_LENGTHS: Final = (19, 16, 15, 14)
_CARD_STARTS: Final = re.compile(r"4|5[1-5]|2[2-7]|3[47]|3[068]|6[0245]|62|35")


def cards(text: str) -> Iterator[Span]:
    """Payment cards: groups of digits that a network issues and whose check digit is right."""
    from stdnum import luhn  # noqa: PLC0415 - slow to import, and most texts have no number

    looks = 0
    for run in _RUN.finditer(text):
        places = [run.start() + n for n, c in enumerate(run[0]) if c.isdigit()]
        digits = "".join(text[place] for place in places)
        starts = [n for n, place in enumerate(places) if n == 0 or not text[place - 1].isdigit()]
        taken = -1
        for n in starts:
            for length in _CARD_LENGTHS:
                last = n + length - 1
                if (
                    n <= taken
                    or last >= len(places)
                    or (places[last] + 1 < run.end() and text[places[last] + 1].isdigit())
                ):
                    continue
                looks += 1
                if looks > 4 * _MOST_LOOKS:
                    yield places[n], run.end()
                    taken = len(places)
                    break
                if _CARD_STARTS.match(digits, n) and luhn.is_valid(digits[n : last + 1]):
                    yield places[n], places[last] + 1
                    taken = last
                    break


_IBAN: Final = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,40}")
_SHORTEST_IBAN: Final = 15


def ibans(text: str) -> Iterator[Span]:
    """Bank accounts, as long as their country has them and with the right check digits."""
    from stdnum import iban  # noqa: PLC0415

    for number, run in enumerate(_IBAN.finditer(text)):
        if number >= _MOST_LOOKS:
            yield run.span()
            continue
        end = run.end()
        while len(re.sub(r"[ -]", "", text[run.start() : end])) >= _SHORTEST_IBAN:
            if text[end - 1].isalnum() and iban.is_valid(text[run.start() : end], check_country=False):
                yield run.start(), end
                break
            end -= 1


_NUMBER_BEGINS: Final = re.compile(r"(?<![\w+])(?:\+|00)?\(?\d")
_NUMBER: Final = re.compile(r"(?:\+|00)?[(]?\d[\d ().\-/\u2010-\u2015]{5,24}")
_GROUP: Final = re.compile(r"\d+(?!\w)")
_ABROAD: Final = ("+", "00")
_LENGTHS: Final = range(7, 18)
_LONGEST_DATE: Final = 8
_REGIONS: Final = ("US", "GB", "DE", "FR", "ES", "IT", "BR", "PT", "NL", "PL", "RU", "TR", "IN", "JP", "CN", "KR", "MX")
_CALL: Final = re.compile(rf"(?:{'|'.join(patterns('call'))})[^\d]{{0,30}}$", re.IGNORECASE)
_NORTH_AMERICAN: Final = re.compile(r"\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}")
_BOOK_LENGTHS: Final = (10, 13)


def phones(text: str) -> Iterator[Span]:
    """Telephone numbers: with a country code, in a national form, or any valid one where a word for calling is near."""
    looks = taken = 0
    for begun in _NUMBER_BEGINS.finditer(text):
        run = _NUMBER.match(text, begun.start()) if begun.start() >= taken else None
        if run is None:
            continue
        prefixes = [run[0][: group.end()] for group in _GROUP.finditer(run[0])]
        if book := next(filter(_is_book, prefixes), None):
            taken = run.start() + len(book)
            continue
        called = _CALL.search(text, max(0, run.start() - 45), run.start()) is not None
        # Other numbers may stand right behind: the longest run of groups that is a number counts.
        for raw in reversed(prefixes):
            if not (called or _is_formed(raw)):
                continue
            looks += 1
            if looks > _MOST_LOOKS or _is_phone(raw):
                yield run.start(), (taken := run.start() + len(raw))
                break


def _is_formed(raw: str) -> bool:
    """Whether digits are written as telephone numbers are."""
    abroad = raw.startswith(_ABROAD) or (raw.startswith(("0", "(0")) and len(_digits(raw)) > _LONGEST_DATE)
    return abroad or _NORTH_AMERICAN.fullmatch(raw) is not None


def _digits(raw: str) -> str:
    return re.sub(r"\D", "", raw)


def _is_phone(raw: str) -> bool:
    import phonenumbers  # noqa: PLC0415

    if len(_digits(raw)) not in _LENGTHS:
        return False
    abroad = raw.startswith(_ABROAD)
    number = "+" + raw[2:] if raw.startswith("00") else raw
    for region in (None,) if abroad else _REGIONS:
        try:
            if phonenumbers.is_valid_number(phonenumbers.parse(number, region)):
                return True
        except phonenumbers.NumberParseException:
            continue
    return False


def _is_book(raw: str) -> bool:
    from stdnum import isbn  # noqa: PLC0415

    digits = _digits(raw)
    return len(digits) in _BOOK_LENGTHS and isbn.is_valid(digits)


# --- keys, tokens, passwords

_KEYS: Final = re.compile(
    r"(?<![\w-])(?:(?:AKIA|ASIA)[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_\w{20,255}|glpat-[\w-]{16,255}"
    r"|sk-[\w-]{16,255}|[sr]k_(?:live|test)_\w{10,255}|xox[abeprs]-[\w-]{10,255}|AIza[\w-]{30,60}|ya29\.[\w-]{20,255}"
    r"|hf_\w{20,100}|npm_\w{30,60}|pypi-[\w-]{16,255}|SG\.[\w-]{16,64}\.[\w-]{16,64}"
    r"|eyJ[\w-]{8,2000}\.[\w-]{8,2000}(?:\.[\w-]{0,2000})?)"
    r"|-----BEGIN[A-Z ]{0,40}PRIVATE KEY-----[\w+/=\s]{0,4000}(?:-----END[A-Z ]{0,40}PRIVATE KEY-----)?"
    r"|(?<=[Bb]earer )[\w.~+/-]{16,2000}=*"
)
_NAMED: Final = re.compile(
    rf"(?:{'|'.join(patterns('password'))})"
    r"(?:\s?[:=]\s?|\s?(?:is|ist|est|es|è|é|jest|это|是|は|는|은)\s?[:=]?\s?)(?P<value>[^\s,;]{4,255})",
    re.IGNORECASE,
)
_RANDOM: Final = re.compile(r"(?<![\w+/=])[A-Za-z0-9_+=]{24,512}+")
_MIN_BITS: Final = 3.8
"""Per character. Words joined by hand stay below, keys of that length lie above."""


def secrets(text: str) -> Iterator[Span]:
    """Keys by their makers' prefixes, passwords by their name, and other tokens that look drawn by lot."""
    yield from (found.span() for found in _KEYS.finditer(text))
    for found in _NAMED.finditer(text):
        value = found["value"]
        if re.search(r"[\d\W_]", value.rstrip(".!?")) and not value.startswith("["):
            yield found.span("value")
    for found in _RANDOM.finditer(text):
        if _is_random(found[0]):
            yield found.span()


def _is_random(token: str) -> bool:
    mixed = (str.isdigit, str.isupper, str.islower)
    if not all(any(test(c) for c in token) for test in mixed):
        return False
    counts = Counter(token)
    return -sum(n / len(token) * math.log2(n / len(token)) for n in counts.values()) >= _MIN_BITS


# --- streets

_WORD: Final = r"[^\W\d_][\w'\u2019.-]{0,30}"
_SURE_STREET: Final = re.compile("|".join(patterns("street-sure")).replace("{word}", _WORD), re.IGNORECASE)
_STREET: Final = re.compile(
    r"\b\d{1,5}[A-Za-z]?\s(?:"
    + _WORD
    + r"\s){1,4}?(?:street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd|court"
    r"|ct|place|square|terrace|way|close)\b\.?"
    r"|\b\d{1,4}(?:\s?(?:bis|ter))?,?\s(?:rue|avenue|boulevard|place|chemin|impasse|allée|quai)(?:\s"
    + _WORD
    + r"){1,4}"
    r"|\b(?:calle|avenida|avda\.|plaza|paseo|via|viale|piazza|corso|rua|travessa|شارع)(?:\s" + _WORD + r"){1,5}?,?\s"
    r"(?:n[ºo°]\.?\s?|número\s)?\d{1,4}\b",
    re.IGNORECASE,
)
_LIVES: Final = re.compile(rf"(?:{'|'.join(patterns('lives'))})[^\n]{{0,40}}$", re.IGNORECASE)
_POST: Final = re.compile(r"\s?,\s?(?:" + _WORD + r"\s?,?\s?){0,3}\d{4,6}\b|\s?,\s?\d{4,6}\s" + _WORD)


def addresses(text: str) -> Iterator[Span]:
    """Streets with a number.

    Where a title may look so (`84 Charing Cross Road`), only with a postal code or a word for living there.
    """
    if not re.search(r"\d", text):
        return
    yield from (found.span() for found in _SURE_STREET.finditer(text))
    for found in _STREET.finditer(text):
        post = _POST.match(text, found.end())
        if post or _LIVES.search(text, max(0, found.start() - 60), found.start()):
            yield found.start(), (post or found).end()


FINDERS: Final[tuple[tuple[str, Callable[[str], Iterator[Span]]], ...]] = (
    ("secret", secrets),
    ("e-mail", emails),
    ("iban", ibans),
    ("card", cards),
    ("phone", phones),
    ("address", addresses),
)
"""In the order in which they have their say: a key may hold what looks like a number."""
