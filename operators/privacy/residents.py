"""Names of people around somebody: said what they are called, or named where their street is.

`operators.privacy.persons` finds those that a possessive announces. Here are "le patron s'appelle ...", "Sarah
Whitcombe from accounting lives at ...", and names in scripts without capitals: a Chinese surname, a name
before a Japanese -san.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from operators.privacy.digits import Span
from operators.privacy.glance import digits_in, stems_of
from operators.privacy.minors import ZH_NAME, ZH_NOT
from operators.privacy.streets import addresses
from operators.privacy.words import patterns

_UPPER: Final = r"(?-i:[A-ZÀ-ÖØ-ÞĀ-ŽŁ\u0410-\u042f\u0401])"
_CASED: Final = rf"{_UPPER}[^\W\d_]['\u2019\w-]{{1,30}}"
_PARTICLE: Final = r"(?:de|del|della|di|da|do|dos|van|von|zu|der|den|ter|la|le|du|al|el)\s"
_TWO: Final = rf"{_CASED}(?:\s(?:{_PARTICLE}){{0,2}}{_CASED}){{1,3}}"
_EDGE: Final = r"(?<![^\W_])"
_SENTENCE: Final = re.compile(r"[.!?;。\uff01\uff1f]\s|[。\uff01\uff1f]")
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


_TWO_ALONE: Final = re.compile(rf"{_EDGE}(?P<name>{_TWO})")
_JA_NAME: Final = re.compile(r"(?P<ja>[\u3005\u3400-\u9fff\u30a0-\u30ff]{2,7}?)(?=さん|くん|君|ちゃん|氏|先生|様)")
_ADDRESSED: Final = re.compile(r"(?P<name>[\u4e00-\u9fff]{2,4}?)(?=先生|女士|小姐|阿姨|叔叔|大爷|大妈|医生|さん|氏|様)")
"""Named with a title near a street, in scripts without capitals."""
_CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_AR_CALLED: Final = re.compile(
    r"(?:جاري|مديري|صديقي|صديقتي|زميلي|جارتي|معلمي)\s(?:اسمه|اسمها)?\s?(?P<name>[\u0620-\u064a]{2,12}(?:\s\u0627ل[\u0620-\u064a]{2,12})?)"
)


@cache
def _no_names() -> frozenset[str]:
    return frozenset(word for name in ("no-names", "roles") for row in patterns(name) for word in row.split(", "))


@cache
def _stems() -> frozenset[str]:
    return frozenset(stem for row in patterns("glance-people") for stem in row.split(", "))


def residents(text: str) -> Iterator[Span]:
    """Where such a name stands.

    >>> said = "Sarah Whitcombe from accounting lives at 9 Marlow Row, we like climbing"
    >>> [said[a:b] for a, b in residents(said)]
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
    """Names before a street in the same sentence."""
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
