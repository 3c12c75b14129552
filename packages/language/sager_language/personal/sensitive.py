"""Sensitive categories of personal data (GDPR, Articles 9 and 10).

Two questions with two answers. A *fact*, once liked, is a line about a person: a word of a category in it counts,
unless it stands at a kind of work, art, study, dish or sight and so speaks of that. A *text* is about many things: only
statements about a person count, "I am diabetic" and not "a book on diabetes".
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final

from sager_language.personal.numbers import Span
from sager_language.personal.statements import medicine, phrases, stated, statements
from sager_language.personal.text import folded, line, patterns
from sager_language.text import Lazy


class Category(StrEnum):
    """A category of sensitive data that a domain may learn."""

    HEALTH = "health"
    RELIGION = "religion"
    SEXUALITY = "sexuality"
    POLITICS = "politics"
    # Ethnic origin, and papers to stay.
    ORIGIN = "origin"
    # Convictions and offences.
    RECORD = "record"
    DEBTS = "debts"
    # A part of a city: a postal code, a square of some kilometres. Never a street.
    LOCATION = "location"


CJK: Final = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
UNSPACED: Final = Lazy(f"[{CJK}]")
_NOT_BETWEEN: Final = (
    r"about|on|for|after|read|reading|book|books|film|films|movie|movies|novel|looking|searching|seen|watched|watching"
    r"|into|tired|fan|fans|lover|über|sur|sobre|su|про|friends|married"
)
_NOT_AT: Final = r"|in|at|near|visiting|from|nach|aus|through|going"
_OF_WORKS: Final = r"(?<!\bon )(?<!about )(?<!über )(?<!sur )(?<!sobre )"
_CLAUSE: Final = Lazy(r"[.!?;,。!?、]")
_LOOK_BACK: Final = 70


def _spoken(lists: str, between: str, guard: str = "") -> Lazy:
    # Separate words at non-letters: `\b` fails at the vowel signs of Hindi.
    listed = "|".join(row for name in lists.split() for row in patterns(name))
    return Lazy(
        rf"(?:(?:^|[^\w]){guard}(?:{listed})(?=\s|$)|{'|'.join(patterns('person-unspaced'))})"
        rf"(?:(?: (?!(?:{between})\b)\S{{1,20}}){{0,4}} ?|[{CJK} ]{{0,4}}?)$"
    )


_HAS: Final = _spoken("person is", _NOT_BETWEEN, _OF_WORKS)
_IS: Final = _spoken("is", _NOT_BETWEEN + _NOT_AT)
_ACTOR: Final = Lazy(r"(?:^|\W)(?:i|we|ich|wir|je|j'|nous|ik|wij|я|мы)(?:'\w{1,2})?(?: [^\s]{1,20}){0,6} ?$")
_HERE: Final = Lazy(
    r"(?: (?:here|person|patient|man|woman|guy|girl|mum|mom|dad|household|family)\b"
    r"|, (?:and )?(?:\d|need|want|look|seek|search|suche|cherche|busco|cerco|so i|that's why))"
)
_ALONE: Final = Lazy(
    r"^\W*(?:(?:hi|hello|hey|a|an|the|very|proud|fellow|lifelong|recovering|devout|practi[sc]ing|ex|former|openly|young|old"
    r"|new|type|one|two|\d+|severe|severely|newly|recently|single|married|strict|deeply)\W{1,2}){0,4}$"
)
_SAYS_SO: Final = Lazy(
    r"[\u3040-\u30ff\uac00-\ud7af\u4e00-\u9fff]{0,2}\s?(?:"
    r"있어|있습|있는|있고|입니다|이에요|예요|이라|라서|때문|중이|중입|환자|앓|를 앓|을 앓"
    r"|です|なので|だから|があ|をわずら|を患|持ち|患者|のため|になり|になっ|で(?:す|、)|と診断|が(?:つら|ひど|再発)"
    r"|发作|發作|缠身|晚期|早期|了)"
)
_HAD: Final = Lazy(r"(?:有|患|得|因为|因為|是|怀|患有|查出|确诊|患上|得了|被诊断为|被诊断出)$")


@cache
def _wants() -> frozenset[str]:
    return frozenset(word for row in patterns("wants") for word in row.split(", "))


def is_of_a_person(said: str, start: int, end: int, *, only_is: bool, acts: bool) -> bool:
    """Return True if a folded text uses this word about a person."""
    clause = _CLAUSE.split(said[max(0, start - _LOOK_BACK) : start])[-1]
    if (_IS if only_is else _HAS).search(clause):
        return True
    if UNSPACED.search(said[start:end]):
        return not only_is and (_SAYS_SO.match(said, end) is not None or _HAD.search(clause) is not None)
    if _HERE.match(said, end) and _ALONE.match(clause):
        return True
    if acts and not only_is and (actor := _ACTOR.search(clause)):
        return _wants().isdisjoint(re.findall(r"[^\W\d_]+", actor[0]))
    return False


WORDED: Final = tuple(category for category in Category if category is not Category.LOCATION)
# Dimensions whose values are names: Christian and Gay are two.
NAMES: Final = frozenset({"actor", "artist", "author", "brand", "city", "country", "director", "publisher", "state"})
# Dimensions for places.
PLACES: Final = frozenset({"area", "location", "neighborhood", "neighbourhood", "postal_code", "zip", "zip_code"})
# Dimensions for the subject of a work.
SUBJECTS: Final = frozenset(
    {"category", "categories", "genre", "genres", "keyword", "keywords", "shelf", "shelves", "subject", "subjects",
     "tag", "tags", "theme", "themes", "topic", "topics"}
)  # fmt: skip

_ONE_WORD: Final = Lazy(r"\w+")
_GOES_ON: Final = Lazy(r"\w|-(?:and|und|et)-")
_LOOK_AHEAD: Final = 40
_FOR: Final = Lazy(
    r"(?:^|\W)(?:for|by|für|von|pour|para|por|per|voor|door|dla|для|için) (?:the |die |les |los |las |i |gli |os )?$"
)
_ON: Final = Lazy(r"(?: (?:पर|के बारे|hakk\u0131nda|üzerine)|(?:に(?:関|つい)|についての|에 (?:대|관)))")
# Words between a word of a category and the thing that it belongs to.
_FEW: Final = 3


@dataclass(frozen=True, slots=True)
class _Entry:
    """A listed word or phrase.

    Attributes:
        phrase: folded.
        category: the category that it reveals.
        only_is: True if it may describe a thing too, and counts only after words like `I am`.
    """

    phrase: str
    category: Category
    only_is: bool


@cache
def _entries() -> tuple[Mapping[str, tuple[_Entry, ...]], tuple[tuple[re.Pattern[str], Category, bool], ...]]:
    spaced: dict[str, list[_Entry]] = {}
    joined: list[tuple[re.Pattern[str], Category, bool]] = []
    for category in WORDED:
        for name, only_is in ((category.value, False), (f"{category.value}-said", True)):
            listed = sorted(set(filter(None, _listed(name))), key=lambda word: (-len(word), word))
            for phrase in listed:
                if not UNSPACED.search(phrase):
                    spaced.setdefault(_first(phrase), []).append(_Entry(phrase, category, only_is))
            either = "|".join(re.escape(phrase) for phrase in listed if UNSPACED.search(phrase))
            if either:
                joined.append((re.compile(either), category, only_is))
    longest = {first: tuple(sorted(found, key=lambda e: -len(e.phrase))) for first, found in spaced.items()}
    return longest, tuple(joined)


_ILLNESSES: Final = (
    "krebs", "cancer", "kanker", "kræft", "kreft", "karzinom", "carcinoma", "sarcoma", "lymphoma", "lymphom", "melanom",
    "leukämie", "itis", "sclerosis", "sklerose", "plegia", "dystrophy", "tumor", "tumour",
)  # fmt: skip
_SHORTEST_ILLNESS: Final = 6


def _listed_in(said: str) -> Iterator[tuple[Category, int, int, bool]]:
    spaced, joined = _entries()
    taken = 0
    for word in _ONE_WORD.finditer(said):
        start = word.start()
        if start < taken or said[max(0, start - 1) : start] == "-":
            continue
        if word[0] not in spaced:
            if word[0].endswith(_ILLNESSES) and len(word[0]) > _SHORTEST_ILLNESS:
                yield Category.HEALTH, start, word.end(), True
            continue
        for entry in spaced[word[0]]:
            end = start + len(entry.phrase)
            if said.startswith(entry.phrase, start) and not _GOES_ON.match(said, end):
                yield entry.category, start, end, entry.only_is
                taken = end
                break
    if UNSPACED.search(said):
        for pattern, category, only_is in joined:
            yield from ((category, *found.span(), only_is) for found in pattern.finditer(said))


@cache
def _others() -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, _listed('others')))})(?!\w)")


@cache
def _fields() -> frozenset[str]:
    return frozenset(_listed("fields"))


@cache
def _things() -> tuple[frozenset[str], re.Pattern[str]]:
    listed = set(_listed("things"))
    joined = "|".join(re.escape(word) for word in listed if UNSPACED.search(word))
    return frozenset(word for word in listed if not UNSPACED.search(word)), re.compile(joined)


@cache
def _medicines() -> re.Pattern[str]:
    return re.compile(medicine())


def _listed(name: str) -> Iterator[str]:
    for row in patterns(name):
        listed = row.partition(": ")[2] or row
        yield from (folded(word) for word in listed.split(","))


def _first(word: str) -> str:
    found = _ONE_WORD.search(word)
    return found[0] if found else word


@lru_cache(maxsize=65_536)
def of_fact(dimension: str, value: str) -> Category | None:
    """Return the category that a line would reveal, if any.

    >>> of_fact("audience", "gay"), of_fact("genre", "cancer memoir"), of_fact("director", "Christian Petzold")
    (<Category.SEXUALITY: 'sexuality'>, None, None)
    """
    if dimension in PLACES:
        return Category.LOCATION
    claimed = next((category for category, _, _ in claims(value)), None)
    if claimed is not None or dimension in NAMES:
        return claimed
    # A dimension is the item's own key, and may reveal everything: `is_pregnant = yes`.
    said = folded(f"{dimension} {value}".replace("_", " "))
    if _medicines().search(said):
        return Category.HEALTH
    if (left_out := stated(folded(value), frozenset(_ONE_WORD.findall(said)))) is not None:
        return Category(left_out)
    begins = len(folded(dimension)) + 1
    for text in dict.fromkeys((said.replace("-", " "), said)):
        others = [found.span() for found in _others().finditer(text)]
        for category, start, end, only_is in _listed_in(text):
            of_other = any(a <= start < b for a, b in others)
            is_field = dimension in SUBJECTS and text[start:end] in _fields()
            is_named = start >= begins and _is_a_name(line(value), start - begins, end - begins)
            if (
                only_is
                or of_other
                or is_field
                or is_named
                or (start >= begins and _speaks_of_a_thing(text, start, end, begins))
            ):
                continue
            return category
    return None


def _speaks_of_a_thing(text: str, start: int, end: int, begins: int) -> bool:
    words, joined = _things()
    # "For" names people, and a name of several words is a thing's own, like "christian living".
    said = text[start:end]
    if (said in _BOUND and not _CAUSE.match(text, end)) or _FOR.search(text[:start]):
        return False
    if UNSPACED.search(said):
        return joined.search(text, end) is not None
    before = _ONE_WORD.findall(text[begins:start])[-_FEW:]
    after = _ONE_WORD.findall(text[end:])[:_FEW]
    return not words.isdisjoint((*before, *after))


# Works reveal whom a person loves more than anything else: these words count at films and books too.
_BOUND: Final = frozenset({"gay", "gays", "lesbian", "lesbians", "erotic", "erotica", "porn", "pornography", "fetish"})
# What makes a field of history of them, as of "gay rights".
_CAUSE: Final = Lazy(r" (?:and lesbian )?(?:rights|liberation|history|studies)\b")


def claims(text: str, *, of_a_person: bool = False) -> list[tuple[Category, int, int]]:
    """Return statements about a person as ranges of `folded(text)`.

    >>> [category.value for category, _, _ in claims("I am diabetic, show me films about cancer")]
    ['health']
    """
    said = folded(text)
    words = frozenset(_ONE_WORD.findall(said))
    claimed = [(Category(category), start, end) for category, start, end in statements(said, words)]
    claimed += [(Category(category), start, end) for category, start, end in phrases(said, words)]
    if of_a_person:
        claimed += [(Category.HEALTH, *found.span()) for found in _medicines().finditer(said)]
    claimed += list(_worded(said, claimed, of_a_person=of_a_person))
    shown = line(text)
    claimed = [claim for claim in claimed if not _is_a_name(shown, *claim[1:])]
    return sorted(claimed, key=lambda claim: (claim[1], -claim[2]))


def _worded(
    said: str, claimed: list[tuple[Category, int, int]], *, of_a_person: bool
) -> Iterator[tuple[Category, int, int]]:
    others: list[Span] | None = None
    spoken = [end for _, _, end in claimed]
    for category, start, end, only_is in _listed_in(said):
        if said[max(0, start - 1) : start] == "[":
            continue  # a placeholder
        if of_a_person and not (only_is and category is Category.ORIGIN):
            if said[start:end] in _BOUND or not _of_a_wish(said, start, end):
                yield category, start, end
            continue
        acts = category in _DONE
        goes_on = any(at <= start and _GOES_ON_FROM.fullmatch(said, at, start) for at in spoken)
        speaks = goes_on or is_of_a_person(said, start, end, only_is=only_is and not acts, acts=acts)
        if speaks and not _of_a_wish(said, start, end):
            others = [found.span() for found in _others().finditer(said)] if others is None else others
            if not any(a <= start < b for a, b in others):
                spoken.append(end)
                yield category, start, end


_NAMED: Final = Lazy(
    r"(?:by|von|with|mit|de|di|do|da|par|por|door|van|of|starring)\s(?:Christian|Gay)\s(?=[A-Z\u00c0-\u017d][^\W\d_]+)(?!Living|Rock)"
)
# A German word; the illness is written large.
_THAN: Final = "als"


def _is_a_name(shown: str, start: int, end: int) -> bool:
    if shown[start:end].casefold() == _THAN:
        return shown[start:end] != _THAN.upper()
    return any(found.start() <= start and end <= found.end() for found in _NAMED.finditer(shown))


# From one word of a person to the next: "I've been sober since rehab".
_GOES_ON_FROM: Final = Lazy(
    r"(?: (?:and|after|since|with|for|because of|und|nach|seit|mit|et|après|avec|y|con|e|com|i|z"
    r"|\u0438|\u0441|ve|my|a|an|the|\+|&)){1,3} (?:\S+ ){0,2}"
)
# What people have, take and do, more than what they are.
_DONE: Final = frozenset({Category.HEALTH, Category.RECORD, Category.DEBTS})


def _of_a_wish(said: str, start: int, end: int) -> bool:
    words, joined = _things()
    ahead = said[end : end + _LOOK_AHEAD]
    if _ON.match(ahead):
        return True
    if UNSPACED.search(said[start:end]):
        return joined.match(ahead) is not None
    after = _ONE_WORD.findall(ahead)[:2]
    if len(after) > 1 and after[1] in _LOVERS:
        return False
    if after and after[0] in words and ahead.startswith((" ", "-")):
        return True
    before = _ONE_WORD.findall(said[max(0, start - _LOOK_AHEAD) : start])[-1:]
    return bool(before) and before[0] in (_ROMANCE if said[start:end].isascii() else words)


_LOVERS: Final = frozenset({"lover", "fan", "buff", "maker", "student", "teacher", "writer", "lovers", "fans"})
# Kinds of works that an adjective follows in Romance languages.
_ROMANCE: Final = frozenset(
    {"thriller", "drame", "drama", "film", "cine", "cinéma", "cinema", "satire", "sátira", "comédie", "roman", "novela"}
)
