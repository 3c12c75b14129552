"""Names of nobody's list: capitalised words where people introduce themselves, sign, or speak of those around them."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from operators.privacy.digits import Span
from operators.privacy.words import patterns

_UPPER: Final = r"[A-ZÀ-ÖØ-ÞĀ-Ž\u0370-\u03ab\u0410-\u042f\u0401\u0404\u0406\u0407\u0490]"
_WORD: Final = rf"{_UPPER}[^\W\d_][\w'\u2019-]{{0,30}}"
_PARTICLE: Final = r"(?:de|del|della|di|da|dos|van|von|zu|der|den|ter|la|le|du|al|el|af|av)\s"
_TWO: Final = rf"{_WORD}(?:\s{_PARTICLE}){{0,1}}(?:\s(?:{_PARTICLE}){{0,2}}{_WORD}){{1,3}}"
_ONE_OR_MORE: Final = rf"{_WORD}(?:\s(?:{_PARTICLE}){{0,2}}{_WORD}){{0,3}}"
_BEGINS: Final = r"(?:^|[.!?;:,\n(\u2013\u2014-]\s?)"
_GREETS: Final = (
    r"(?:(?i:hi|hello|hey|hallo|moin|servus|bonjour|salut|coucou|hola|buenas|ciao|salve|olá|oi|hoi|cześć|привет"
    r"|здравствуйте|hej|hei|moi|ahoj|szia|salut|γεια)(?:\s\w+)?[,!.]?\s)?"
)
_ENDS: Final = (
    r"(?=\s?(?:$|[,.!?;:)\n]|\u2013|-\s|(?:and|und|et|y|e|i|en|\u0438|\u0456|och|og|ja|a|but|aber|mais|from|aus|de|of|again|here|hier"
    r"|speaking|wieder|looking|suche|cherche|busco|cerco|procuro|zoek|szukam|ищу|шукаю)\b))"
)
"""What goes on behind a name, and not behind "this is Spinal Tap level of funny"."""


@cache
def _introduced() -> re.Pattern[str]:
    """As "I'm Oswin Tarrant", "soy Fulgencia", at the beginning of a clause and in small letters but for the first."""
    two, one, behind = ("|".join(patterns(name)) for name in ("introduces-two", "introduces", "introduces-behind"))
    closing = "|".join(patterns("signs"))
    return re.compile(
        rf"{_BEGINS}{_GREETS}(?:{two})\s(?P<two>{_TWO}){_ENDS}"
        rf"|{_BEGINS}{_GREETS}(?:{one})\s(?P<one>{_ONE_OR_MORE})"
        rf"|{_BEGINS}{_GREETS}(?P<behind>{_ONE_OR_MORE})\s(?:{behind})\b(?=\s?(?:$|[,.!?;:\n]|\u2013|(?:again|and|from|with|und|aus|wieder|et|de|y|e)\b))"
        rf"|(?:^|[.!?;,\n\u2013-]\s?)(?i:{closing})[,:]?\s?(?P<signed>{_ONE_OR_MORE})\s?[.!]?[\"'\u201d\u201c\u2019\u00bb]?$"
    )


@cache
def _kin() -> re.Pattern[str]:
    """As "my wife Philippa Stroud", "unser Sohn Korbinian, ..."."""
    kin, says = "|".join(patterns("kin")), "|".join(w for row in patterns("says") for w in row.split(", "))
    return re.compile(
        rf"(?P<shown>\b(?:show|shows|showed|teach|tell|read|zeig\w*|montrer|enseñar)\s)?(?<![^\W_])(?:{kin})\s?[,(]?\s?"
        rf"(?P<name>{_WORD}(?:\s{_WORD}){{0,2}})(?P<more>\s(?:{says})\b|\s?[,)])?"
    )


@cache
def _no_names() -> frozenset[str]:
    return frozenset(word for name in ("no-names", "roles") for row in patterns(name) for word in row.split(", "))


_FAN: Final = re.compile(
    r"[\s-](?:fans?|lover|buff|nerd|geek|freak|stan|addict|liebhaber|reader|style|type|era|here to)\b"
)


def announced(text: str) -> Iterator[Span]:
    """Where such a name stands.

    >>> [text[a:b] for text in ["hi, I'm Oswin Tarrant and I like noir", "I am Legend"] for a, b in announced(text)]
    ['Oswin Tarrant']
    """
    for found in _introduced().finditer(text):
        group = next(group for group in ("two", "one", "behind", "signed") if found[group])
        if _is_name(text, found.start(group), found.end(group)):
            yield found.span(group)
    for found in _kin().finditer(text):
        is_two = " " in found["name"]
        sure = found["more"] is not None and (found["more"].strip() not in {",", ")"} or "," in found[0][:-1])
        if (sure or (is_two and not found["shown"])) and _is_name(text, found.start("name"), found.end("name")):
            yield found.span("name")


def _is_name(text: str, start: int, end: int) -> bool:
    """Whether these capitalised words are none of a language's own, and no heading in capitals."""
    words = [word.casefold() for word in re.split(r"[\s-]", text[start:end])]
    return _no_names().isdisjoint(words) and not _FAN.match(text, end) and not text.isupper()
