"""Finder of streets with a number, in bounded time."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from sager_language.personal.minors import ZH_NAME, ZH_NOT
from sager_language.personal.numbers import Span
from sager_language.personal.text import digits_in, patterns, stems_of
from sager_language.text import Lazy

_WORD: Final = r"[^\W\d_][\w'\u2019.-]{0,30}"
_SURE_STREET: Final = Lazy("|".join(patterns("street-sure")).replace("{word}", _WORD), re.IGNORECASE)
_STREET: Final = Lazy(
    r"\b\d{1,5}[A-Za-z]?\s(?:"
    + _WORD
    + r"\s){1,4}?(?:street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd|court"
    r"|ct|place|square|terrace|way|close|row|green|gardens|crescent|mews|grove|walk|gate|hill|rise|parade|wharf)\b\.?"
    r"|\b\d{1,4}(?:\s?(?:bis|ter))?,?\s(?:rue|avenue|boulevard|place|chemin|impasse|allée|quai)(?:\s"
    + _WORD
    + r"){1,4}"
    r"|\b(?:calle|avenida|avda\.|plaza|paseo|via|viale|piazza|corso|rua|travessa|شارع)(?:\s" + _WORD + r"){1,5}?,?\s"
    r"(?:n[ºo°]\.?\s?|número\s)?\d{1,4}\b"
    # "Ahornweg 4", which is a street if a person lives in it
    r"|\b(?-i:[A-ZÄÖÜ])[\wäöüß-]{2,30}(?:weg|platz|ring|damm|ufer|steig|chaussee|hof|markt|graben|kade|dijk|singel|dreef|plein|steeg)\s"
    r"\d{1,4}(?:\s?[a-z]\b)?",
    re.IGNORECASE,
)
_LIVES: Final = Lazy(rf"(?:{'|'.join(patterns('lives'))})[^\n]{{0,40}}$", re.IGNORECASE)
_UPPER: Final = r"(?-i:[A-ZÀ-ÖØ-ÞĀ-Ž\u0370-\u03ab\u0410-\u042f])"
_HOME: Final = Lazy(
    rf"(?<!\w)(?:{'|'.join(patterns('home'))})(?!\w)[^\n\d!?]{{0,40}}?(?P<street>"
    # "Am Mühlbach 7", "улице Садовой, дом 9": a capitalised name and its number, no "in Berlin, 3 films"
    rf"{_UPPER}[\w'\u2019.-]{{1,30}}(?:\s{_WORD}){{0,2}},?\s(?:n[ºo°]?\.?\s?|д\.?\s?|дом\s|no:?\s?|č\.\s?)?\d{{1,4}}"
    r"(?:\s?[A-Za-z](?!\w)|[-/]\d{1,4})?(?![\w.:]?\d)(?!\s(?!(?:daire|dpto|depto|dept|bât|suite|unit|lgh|hinterhaus|vorderhaus|aufgang|links|rechts|bajo|planta|puerta|esc|izda|dcha|int|scala|lok|byt|корп|стр|под|stock|tr|hs|flat|apt|apto|whg|og|etage|étage|piso|interno|кв)\b)[^\W\d_]{3,})"
    # "9 Thistle Row", "8 bis, impasse du Four"
    rf"|\d{{1,5}}[A-Za-z]?(?:\s(?:bis|ter))?,?\s{_UPPER}[\w'\u2019-]{{1,30}}\s{_UPPER}[\w'\u2019-]{{1,30}})",
    re.IGNORECASE,
)
_POST: Final = Lazy(
    r"\s?,\s?(?:"
    + _WORD
    + r"\s?,?\s?){0,3}\d{4,6}\b|\s?,\s?\d{4,6}\s"
    + _WORD
    + r"|\s?,\s?(?:"
    + _WORD
    + r"\s?,?\s?){0,3}(?-i:[A-Z]{1,2}\d[A-Z\d]?\s\d[A-Z]{2}\b)"
)


# A postal code beside a street that is a placeholder by now.
_BESIDE: Final = Lazy(
    r"\[address\](?:,\s?|\s)(?:(?:in|à|en|em|a|te|w|в|i)\s)?(?P<code>\d{4,6}|\d{2}-\d{3}|\d{4}-\d{3})(?![\d.,]?\d)(?=\s(?-i:[A-ZÀ-ÖØ-ÞĀ-Ž\u0410-\u042f])|[,.]|$)"
)


def streets(text: str) -> Iterator[Span]:
    """Find anything like a street with a number, for texts about people."""
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


_CAPITAL: Final = r"(?-i:[A-ZÀ-ÖØ-ÞĀ-ŽŁ\u0410-\u042f\u0401])"
_CASED: Final = rf"{_CAPITAL}[^\W\d_]['\u2019\w-]{{1,30}}"
_PARTICLE: Final = r"(?:de|del|della|di|da|do|dos|van|von|zu|der|den|ter|la|le|du|al|el)\s"
_TWO: Final = rf"{_CASED}(?:\s(?:{_PARTICLE}){{0,2}}{_CASED}){{1,3}}"
_EDGE: Final = r"(?<![^\W_])"
_SENTENCE: Final = Lazy(r"[.!?;。\uff01\uff1f]\s|[。\uff01\uff1f]")
_CALLED: Final = (
    r"(?:(?:is|was) (?:called|named)|called|named|(?:'s|his|her) name is|heißt|heisst|namens|s'appelle|se nomme"
    r"|se llama|si chiama|chama-se"
    r"|se chama|heet|nazywa się|ma na imię|зовут|звать|(?:'?n[\u0131i]n )?ad[\u0131i])"
)
_TITLED: Final = (
    r"(?:mrs?|ms|miss|dr|prof|frau|herrn?|mme|madame|monsieur|m|sra?|señora?|don|doña|sig(?:nor|nora|ra)?|dhr|meneer|mevr(?:ouw)?"
    r"|pani?|dona|seu|fru)\.?"
)
_MOST_BACK: Final = 90


@cache
def _people() -> re.Pattern[str]:
    people = "|".join(patterns("people"))
    acquainted = "|".join(patterns("acquainted"))
    possessive = (
        r"my|our|his|her|mein\w{0,2}|unser\w{0,2}|mon|ma|notre|mi|nuestr[oa]|mi[oa]|nostr[oa]|meu|minha|noss[oa]|mijn|onze?"
        r"|m[oó]j[a]?|nasz[a]?|мо[йяїє]|наш[\u0430]?|min|vår|eski"
    )
    turkish = r"komşum(?:uz)?|patronum|arkadaş\u0131m|müdürüm|öğretmenim|ev sahibim|doktorum|kuzenim"
    return re.compile(
        rf"{_EDGE}(?:{people})(?![^\W_])(?:,|\s\w{{1,12}}){{0,2}}?\s{_CALLED}\s(?P<called>{_CASED}(?:\s(?:{_PARTICLE}){{0,2}}{_CASED}){{0,3}})"
        rf"|{_EDGE}(?:(?:{possessive})\s(?:\w+\s)?(?:{people})|{turkish}|{acquainted})(?![^\W_]),?\s(?:{_TITLED}\s)?(?P<two>{_TWO})"
        r"(?!\s(?:sev|dinl|oku|izle|tercih))",
        re.IGNORECASE,
    )


@cache
def _unspaced() -> re.Pattern[str]:
    return re.compile("|".join(patterns("people-unspaced")))


_TWO_ALONE: Final = Lazy(rf"{_EDGE}(?P<name>{_TWO})")
_JA_NAME: Final = Lazy(r"(?P<ja>[\u3005\u3400-\u9fff\u30a0-\u30ff]{2,7}?)(?=さん|くん|君|ちゃん|氏|先生|様)")
# Named with a title near a street, in scripts without capitals.
_ADDRESSED: Final = Lazy(r"(?P<name>[\u4e00-\u9fff]{2,4}?)(?=先生|女士|小姐|阿姨|叔叔|大爷|大妈|医生|さん|氏|様)")
_CJK: Final = Lazy(r"[\u3040-\u30ff\u3400-\u9fff]")
_AR_CALLED: Final = Lazy(
    r"(?:جاري|مديري|صديقي|صديقتي|زميلي|جارتي|معلمي)\s(?:اسمه|اسمها)?\s?(?P<name>[\u0620-\u064a]{2,12}(?:\s\u0627ل[\u0620-\u064a]{2,12})?)"
)


@cache
def _no_names() -> frozenset[str]:
    return frozenset(word for name in ("no-names", "roles") for row in patterns(name) for word in row.split(", "))


@cache
def _stems() -> frozenset[str]:
    return frozenset(stem for row in patterns("glance-people") for stem in row.split(", "))


def residents(text: str) -> Iterator[Span]:
    """Find these names.

    >>> text = "Sarah Whitcombe from accounting lives at 9 Marlow Row, we like climbing"
    >>> [text[a:b] for a, b in residents(text)]
    ['Sarah Whitcombe']
    """
    for found in _people().finditer(text) if not stems_of(text).isdisjoint(_stems()) else ():
        group = "called" if found["called"] else "two"
        if _is_name(found[group]):
            yield found.span(group)
    if not text.isascii():
        yield from _unspaced_names(text)
        yield from (found.span("name") for found in _AR_CALLED.finditer(text))
    if digits_in(text):
        yield from _at_home(text)


def _at_home(text: str) -> Iterator[Span]:
    for at in dict.fromkeys(at for at, _ in addresses(text)):
        begins = max(0, at - _MOST_BACK)
        for stop in _SENTENCE.finditer(text, begins, at):
            begins = stop.end()
        for found in _TWO_ALONE.finditer(text, begins, at):
            if _is_name(found["name"]):
                yield found.span("name")
        if _CJK.search(text, begins, at):
            yield from (
                found.span("name") for found in _ADDRESSED.finditer(text, max(0, at - 12), min(len(text), at + 40))
            )


def _unspaced_names(text: str) -> Iterator[Span]:
    if not _CJK.search(text):
        return
    for found in _unspaced().finditer(text):
        at = found.end()
        if found[0].endswith("の"):
            if name := _JA_NAME.match(text, at):
                yield name.span("ja")
        elif (name := ZH_NAME.match(text, at)) and name["zh"] not in ZH_NOT:
            yield name.span("zh")


def _is_name(words: str) -> bool:
    return _no_names().isdisjoint(re.split(r"[\s-]", words.casefold()))
