"""Finders of private names and dates of birth, not of famous people's.

Names of makers and of characters are tastes: "films by Anna Schmidt" stays, "my name is Anna Schmidt" does not.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from sager_language.personal.numbers import Span, plain
from sager_language.personal.text import digits_in, patterns, small_words_of, words_of
from sager_language.text import Lazy

_ANY_UPPER: Final = r"[A-ZÀ-ÖØ-ÞĀ-Ž\u0370-\u03ab\u0410-\u042f\u0401\u0404\u0406\u0407\u0490]"
_WORD: Final = rf"{_ANY_UPPER}[^\W\d_][\w'\u2019-]{{0,30}}"
_PARTICLE: Final = r"(?:de|del|della|di|da|dos|van|von|zu|der|den|ter|la|le|du|al|el|af|av)\s"
_TWO: Final = rf"{_WORD}(?:\s{_PARTICLE}){{0,1}}(?:\s(?:{_PARTICLE}){{0,2}}{_WORD}){{1,3}}"
_ONE_OR_MORE: Final = rf"{_WORD}(?:\s(?:{_PARTICLE}){{0,2}}{_WORD}){{0,3}}"
_BEGINS: Final = r"(?:^|[.!?;:,\n(\u2013\u2014-]\s?)"
_GREETS: Final = (
    r"(?:(?i:hi|hello|hey|hallo|moin|servus|bonjour|salut|coucou|hola|buenas|ciao|salve|olá|oi|hoi|cześć|привет"
    r"|здравствуйте|hej|hei|moi|ahoj|szia|salut|γεια)(?:\s\w+)?[,!.]?\s)?"
)
# What goes on behind a name, and not behind "this is Spinal Tap level of funny".
_ENDS: Final = (
    r"(?=\s?(?:$|[,.!?;:)\n]|\u2013|-\s|(?:and|und|et|y|e|i|en|\u0438|\u0456|och|og|ja|a|but|aber|mais|from|aus|de|of|again|here|hier"
    r"|speaking|wieder|looking|suche|cherche|busco|cerco|procuro|zoek|szukam|ищу|шукаю)\b))"
)


@cache
def _introduced() -> re.Pattern[str]:
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
    kin, says = "|".join(patterns("kin")), "|".join(w for row in patterns("says") for w in row.split(", "))
    return re.compile(
        rf"(?P<shown>\b(?:show|shows|showed|teach|tell|read|zeig\w*|montrer|enseñar)\s)?(?<![^\W_])(?:{kin})\s?[,(]?\s?"
        rf"(?P<name>{_WORD}(?:\s{_WORD}){{0,2}})(?P<more>\s(?:{says})\b|\s?[,)])?"
    )


@cache
def _no_announced() -> frozenset[str]:
    return frozenset(word for name in ("no-names", "roles") for row in patterns(name) for word in row.split(", "))


_FAN: Final = Lazy(r"[\s-](?:fans?|lover|buff|nerd|geek|freak|stan|addict|liebhaber|reader|style|type|era|here to)\b")


def announced(text: str) -> Iterator[Span]:
    """Find these names.

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
    words = [word.casefold() for word in re.split(r"[\s-]", text[start:end])]
    return _no_announced().isdisjoint(words) and not _FAN.match(text, end) and not text.isupper()


_EDGE: Final = r"(?<![^\W_])"
_CASED: Final = r"[^\W\d_][\w'\u2019.\-]{0,30}"
_PARTICLES: Final = frozenset(
    {"de", "del", "della", "di", "da", "do", "dos", "van", "von", "vom", "zu", "der", "den", "ter", "la", "le", "du",
     "al", "el", "bin", "ibn", "abu", "ben", "bint", "e", "y", "af", "av", "mc", "st", "o'"}
)  # fmt: skip
_TITLED: Final = r"(?:Mrs?|Ms|Miss|Dr|Prof|Frau|Herr|Mme|Mlle|Sra?|Sig(?:ra)?|Dhr|Mevr|Pan|Pani)\.?"
_MOST_WORDS: Final = 5
_NAME_WORD: Final = Lazy(r"\s?([^\W\d_][^\s,;:!?()\"\u060c\u3002\uff0c|]{0,30})")
_UNSPACED_NAME: Final = Lazy(
    r"\s?([\u3040-\u30ff\u3400-\u9fff\u30fb]{1,8}?|[\uac00-\ud7af]{2,4}?)"
    r"(?=$|[\s,.!?、。\uff0c\uff01\uff1f]|です|と申|といい|という|だよ|だ$|想|喜欢|喜歡|今年|来自|입니다|이에요|예요|이고|이라|라고|인데|이야)"
)
_CJK: Final = Lazy(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


_UPPER: Final = r"[A-ZÀ-ÖØ-ÞĀ-Ž\u0410-\u042f\u0401]"
_CAPITAL: Final = r"[A-ZÄÖÜ]"
_TELLS: Final = r"(?P<told>(?:['\u2019]s name is|named|called|is called|heißt|namens|s'appelle|se llama|si chiama)\s)"
_USER: Final = r"\b(?:the )?(?:user|customer|client|reader|viewer|guest|person)"


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    given = "|".join(sorted(given_names()))
    called, unspaced = "|".join(patterns("called")), "|".join(patterns("called-unspaced"))
    present, kin = "|".join(patterns("present")), "|".join(patterns("kin"))
    says = "|".join(word for row in patterns("says") for word in row.split(", "))
    titled = rf"{_TITLED}\s{_CAPITAL}{_CASED}(?:[\s-]{_CAPITAL}{_CASED})?"
    return (
        re.compile(rf"(?:{_EDGE}(?:{called})(?![^\W_])|{unspaced})\s?[:,]?\s?", re.IGNORECASE),
        re.compile(
            rf"{_EDGE}(?:{present})\s(?:[a-zäöü]{{3}}\s)?(?P<name>(?:{given})(?:[\s-]{_CASED})?|{titled})"
            r"(?!['\u2019]s|[^\W_])"
        ),
        re.compile(
            rf"{_EDGE}(?:{kin})\s?[,(]?\s?(?:{_TELLS}(?P<any>[^\W\d_]{_CASED})|(?P<name>(?:{given})))(?![^\W_])"
            rf"(?P<more>(?:[\s-]{_CASED})?)(?! in the\b)"
        ),
        re.compile(
            rf"{_EDGE}(?P<name>(?:{given})(?:\s{_CASED})?) (?:here|speaking|writing)\b"
            rf"|{_EDGE}(?:{kin})\s?,?\s?(?P<unlisted>{_UPPER}{_CASED}(?:\s{_UPPER}{_CASED})?),? (?:{says})\b"
        ),
        re.compile(
            rf"{_USER}(?:['\u2019]s name is|,? (?:is )?(?:named|called)|,) (?P<name>[A-Z]{_CASED}(?:\s[A-Z]{_CASED})*)"
        ),
    )


_LIKELY: Final = Lazy(
    r"nam|naam|navn|nimi|jmén|nom|nenn|dicen|call|hei(?:ß|ss)|appell|llam|chiam|chamo|heet|heter|hedder|nazyw|imię|зовут|зват|им[яі]"
    r"|ad\u0131m|isim|اسم"
    r"|नाम|名|叫|姓|申し|といい|이름|라고|nimeni|jmenuj|nevem|numesc|λένε|שמי|קוראים|nama|tên|ชื่อ|signed|regards",
    re.IGNORECASE,
)


USERS: Final = frozenset({"user", "customer", "client", "reader", "viewer", "guest", "person"})
_CALLED: Final = frozenset(
    {"name", "named", "called", "heißt", "namens", "appelle", "llama", "chiama",
     "Mr", "Mrs", "Ms", "Miss", "Dr", "Frau", "Herr", "Mme", "Sra", "Sr"}
)  # fmt: skip


_SAYS: Final = frozenset(word for row in patterns("says") for word in row.split(", ")) | {"here", "speaking", "writing"}


@cache
def given_names() -> frozenset[str]:
    """Given names as many people have them."""
    return frozenset(name for row in patterns("given") for name in row.split(", "))


def names(text: str) -> Iterator[Span]:
    """Private names: of the person and of people around them.

    >>> text = "my name is Anna de Vries and I like Agatha Christie"
    >>> [text[a:b] for a, b in names(text)]
    ['Anna de Vries']
    """
    called, present, kin, here, named = _patterns()
    if _LIKELY.search(text):
        for found in called.finditer(text):
            if (end := _end_of_name(text, found)) > found.end():
                yield found.end(), end
    yield from announced(text)
    if not words_of(text).isdisjoint(USERS):
        yield from (found.span("name") for found in named.finditer(text))
    for found in here.finditer(text) if not small_words_of(text).isdisjoint(_SAYS) else ():
        yield found.span("name" if found["name"] else "unlisted")
    if words_of(text).isdisjoint(given_names()) and words_of(text).isdisjoint(_CALLED):
        return
    yield from (found.span("name") for found in present.finditer(text))
    for found in kin.finditer(text):
        which = "any" if found["any"] else "name"
        more = found["more"].strip()
        if which == "any" and not found["any"][0].isupper():
            continue
        end = found.end("more") if more and more[0].isupper() else found.end(which)
        yield found.start(which), end


def _end_of_name(text: str, found: re.Match[str]) -> int:
    at = found.end()
    if _CJK.match(text, at):
        name = _UNSPACED_NAME.match(text, at)
        return name.end(1) if name else at
    words: list[re.Match[str]] = []
    while len(words) < _MOST_WORDS and (word := _NAME_WORD.match(text, words[-1].end() if words else at)):
        words.append(word)
        if word[1].endswith("."):
            break
    if not words:
        return at
    is_cased = words[0][1][0].isupper()
    if found[0].casefold().split() in _WEAK and not is_cased:
        return at
    has_case = words[0][1][0].islower() or is_cased
    end, taken = at, 0
    for word in words:
        bare = word[1].rstrip(".'\u2019")
        low = bare.casefold()
        is_particle = is_cased and taken > 0 and low in _PARTICLES
        if not is_particle and (low in _no_names() or (is_cased and not bare[:1].isupper())):
            break
        taken += 1
        if not is_particle:
            end = word.start(1) + len(bare)
        if taken >= _MOST_LOWER and not is_cased:
            break
    if _is_title(text, found, taken) or (has_case and not is_cased and end > at and not _plausible(text[at:end])):
        return at
    return end


_WEAK: Final = (["call", "me"], ["llámame"], ["nenn", "mich"], ["appelle-moi"], ["appelez-moi"])
_MOST_LOWER: Final = 2


def _plausible(name: str) -> bool:
    return len(name.strip()) > 1


def _is_title(text: str, found: re.Match[str], words: int) -> bool:
    parts = found[0].split()
    return len(parts) > 1 and words <= 1 and not text.isupper() and all(word[:1].isupper() for word in parts)


@cache
def _no_names() -> frozenset[str]:
    return frozenset(word for row in patterns("no-names") for word in row.split(", "))


# --- dates of birth

_MONTH: Final = r"[^\W\d_]{3,12}\.?"
_DATE: Final = (
    r"(?:\d{1,4}\s?[./\-年년]\s?\d{1,2}\s?[./\-月월]\s?\d{1,4}\s?[日일号]?"
    rf"|\d{{1,2}}(?:st|nd|rd|th|er|\.|º)?\s(?:of\s|de\s|di\s)?{_MONTH}(?:,?\s(?:de\s|del\s|of\s)?\d{{2,4}})?"
    rf"|{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{2,4}})?\b)"
)
_YEAR: Final = r"(?:19|20)\d\d"
_FILLS: Final = (
    r"(?:[\s:=,.\-]|['\u2019]s\b|\b(?:is|was|on|in|the|ist|war|am|den|im|jahr|est|le|en|es|el|fue|è|il|nel|to|jest|dnia|w|em|no|dia|op|de|era"
    r"|a|\(e\)|\(in\)|это|было|y\u0131l\u0131nda|tarihi)\b|は|が|은|는|है){0,6}"
)


@cache
def _born() -> re.Pattern[str]:
    labels, myself = "|".join(patterns("birth")), "|".join(patterns("born"))
    return re.compile(
        rf"(?:{_EDGE}(?:{labels}|{myself}))\w{{0,6}}{_FILLS}(?P<date>{_DATE})"
        rf"|{_EDGE}(?:{myself})\w{{0,6}}{_FILLS}(?P<year>{_YEAR})"
        rf"|(?P<before>{_DATE})(?:\s?\w{{0,6}}\s)?\s?"
        r"(?:Geburtstag|birthday|geboren|geb\.|doğdum|doğumlu|出生|生まれ|生|에 태어|년생|생입니다|को (?:हुआ|पैदा))"
        rf"|(?P<fixed>{_YEAR})\s?(?:年(?:出生|生まれ|生)|년생|doğumluyum|geboren)",
        re.IGNORECASE,
    )


def births(text: str) -> Iterator[Span]:
    """Stated dates of birth."""
    if not digits_in(text):
        return
    text = plain(text)
    for found in _born().finditer(text):
        yield next(found.span(name) for name in ("date", "year", "before", "fixed") if found[name])
