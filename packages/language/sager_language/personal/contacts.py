"""Finders of e-mail addresses, names in networks and telephone numbers."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from sager_language.personal.numbers import Span, numbers_a_thing, plain
from sager_language.personal.text import digits_in, patterns, small_words_of
from sager_language.text import Lazy

_MOST_LOOKS: Final = 32

# --- e-mail, whose signs may be words of any language

_AT: Final = "|".join(patterns("at"))
_DOT: Final = "|".join(patterns("dot"))
_ENDS: Final = (
    r"(?:com|org|net|info|edu|gov|biz|app|dev|eu|de|at|ch|fr|be|nl|es|it|pt|br|pl|ru|uk|ie|us|ca|mx|ar|cl|co|tr|in|jp|cn"
    r"|kr|tw|se|no|dk|fi|cz|sk|hu|ro|bg|gr|ua|il|ir|sa|ae|eg|za|au|nz|io|me|ai|xyz|example|test)"
)
_HOSTS: Final = r"(?:gmail|googlemail|yahoo|hotmail|outlook|gmx|web|icloud|proton(?:mail)?|aol|mail|yandex|qq|163)"
_MAILERS: Final = ("gmail", "googlemail", "hotmail", "yahoo", "gmx", "icloud", "protonmail")
_LOCAL: Final = r"(?<![\w.+%-])[\w.+%-]{1,64}"
_OPENED: Final = r"\s?[(\[{<*_]\s?"
_CLOSED: Final = r"\s?[)\]}>*_]\s?"
_SPELLED_DOT: Final = rf"[\s-](?:{_DOT})[\s-]"
_EMAIL: Final = Lazy(
    # anna@example.org, anna @ example . org
    rf"{_LOCAL}(?:@|\s@\s?|\s?@\s)(?:[\w-]{{1,63}}(?:\.|\s\.\s)){{1,6}}[^\W\d]{{2,24}}\b"
    # anna (at) example [dot] org, anna[ät]example.org
    rf"|{_LOCAL}{_OPENED}(?:{_AT}|@)"
    rf"{_CLOSED}(?:[\w-]{{1,63}}(?:\.|{_OPENED}(?:{_DOT}|\.){_CLOSED}|\s(?:{_DOT})\s)){{1,6}}\w{{2,24}}"
    # anna dot schmidt at example dot org, anna-at-example-dot-org
    rf"|(?<![\w.+%])[\w.+%]{{1,64}}(?:{_SPELLED_DOT}\w{{1,64}}){{0,3}}(?:[\s-](?:{_AT})[\s-]|\s?@\s?)"
    rf"\w{{1,63}}(?:(?:{_SPELLED_DOT}|\.)\w{{1,63}}){{0,3}}{_SPELLED_DOT}{_ENDS}\b"
    # anna84 at gmail, anna.schmidt at example.org
    rf"|{_LOCAL}(?:[\s-](?:{_AT})[\s-]|@){_HOSTS}\b(?:\.\w{{2,6}})?"
    rf"|(?<![\w.+%-])(?=[\w.+%-]{{0,64}}[\d._+])[\w.+%-]{{3,64}}\s(?:{_AT})\s[\w-]{{1,63}}\.{_ENDS}\b"
    # annaアットマークexampleドットcom
    r"|(?<![\w.+%-])[A-Za-z0-9.+_-]{1,64}\s?(?:アットマーク|アット|艾特|골뱅이)\s?[A-Za-z0-9-]{1,63}"
    rf"(?:\s?(?:\.|ドット|点|點|점|닷)\s?[A-Za-z]{{2,24}}){{1,4}}"
    # anna@example,org; annaATexampleDOTorg; anna84 gmail
    rf"|{_LOCAL}@[\w-]{{1,63}},\s?{_ENDS}\b"
    r"|(?<![\w.+-])(?-i:[a-z0-9._+-]{2,64}AT[a-z0-9-]{2,63}(?:DOT[a-z0-9-]{2,24}){1,3})(?!\w)"
    rf"|(?<![\w.+%-])(?=[a-z._]{{0,40}}\d)[a-z][\w.]{{3,40}}\s(?:{'|'.join(_MAILERS)})(?![\w.])",
    re.IGNORECASE,
)
_SIGNS: Final = frozenset((*patterns("at"), *_MAILERS))
_UNSPACED_SIGN: Final = Lazy("アット|艾特|골뱅이")
_AT_NETWORK: Final = Lazy(
    rf"(?<![\w.])(?P<name>@[\w.]{{3,30}})(?=[^@]{{0,20}}\b(?:{'|'.join(patterns('networks'))})\b)"
    r"|\b(?:handle|username|user name|nickname|screen name|benutzername|nutzername|pseudo|usuario|nome utente|nick|ник)"
    r"(?:\W{1,3}(?:is|ist|est|es|è|é|это|lautet)\b)?\W{1,4}(?P<stated>@?[A-Za-z0-9][\w.]{2,30})"
    r"|(?:微信|qq|line|ライン|카톡|인스타)[号號]?\s?の?(?:id|아이디|アカウント|账号|帳號)?\s?[是は는은:]?\s?(?P<id>[A-Za-z0-9][\w.-]{4,30})",
    re.IGNORECASE,
)
_HANDLE: Final = Lazy(
    rf"\b(?:{'|'.join(patterns('networks'))})(?:\W{{1,3}}(?:is|name|handle|account|id|ist|est|es|è|é|user(?:name)?)\b)*"
    r"(?P<sign>\W{1,4})(?P<name>[A-Za-z0-9][\w.]{2,30})",
    re.IGNORECASE,
)

_MY_ACCOUNT: Final = (
    r"(?:my|mein|meine|mon|ma|mi|mio|il mio|la mia|meu|o meu|mijn|mój|moje|мой|моя|мій|mitt|min|minun|můj|benim)"
    r"(?: (?:handle|name|nick|nickname|user|username|account|pseudo|usuario|id)"
    r"(?: (?:on|at|auf|bei|sur|en|su|no|op|na|på))?)?"
)
_WRITE_ME: Final = (
    r"(?:find|add|follow|dm|message|text|write|ping|hit|reach|pm|contact|catch) (?:to )?(?:me|us)(?: up)?"
    r" (?:on|at|via|over|through)"
    r"|(?:(?:ich )?bin|findet mich|schreibt? mir|adde?t? mich|erreichbar) (?:auf|bei|über|in)"
)
_NAMELY: Final = (
    r"(?:\W{1,4}|\W{1,3}(?:as|under|is|name|handle|id|at|als|unter|ist|heißt|heisst|est|sous|es|como|come|è|é|jako|это|är|er|on|je)"
    r"\W{1,3}){1,2}"
)
_REACHED: Final = Lazy(
    # add me on discord, bramblefox#4412; find me on insta as wanda_reads; my telegram is corvin_dray
    rf"(?<!\w)(?:{_WRITE_ME}|{_MY_ACCOUNT}) (?:{'|'.join(patterns('networks'))})\w{{0,3}}{_NAMELY}"
    r"(?P<name>@?[A-Za-z0-9][\w.#-]{2,32})",
    re.IGNORECASE,
)
# As "snap me at quillon.b9", with a sign or a digit that no word has.
_AT_ME: Final = Lazy(
    r"(?<!\w)(?:snap|insta|ig|telegram|skype|dm|pm|tweet|venmo|paypal|zelle|ping|reach|message|msg|contact|write|add|text)"
    r" (?:me|us)(?: (?:at|on|via|under|as))?:? (?P<name>@?(?=\w{0,30}[_\d.]\w)[A-Za-z][\w.]{3,32})",
    re.IGNORECASE,
)
_SAYS_IT_IS: Final = Lazy(
    r"\W(?:as|under|is|als|unter|ist|heißt|est|sous|es|como|come|è|é|jako|это|är|er|je)\W{1,3}@?[A-Za-z0-9][\w.#-]*$",
    re.IGNORECASE,
)
_NUMBERED_NAME: Final = Lazy(
    # name#1234 of Discord, live:name of Skype, @name_with_signs
    r"(?<![\w#])[A-Za-z][\w.]{2,31}#\d{4}(?!\w)|(?<!\w)live:(?:\.cid\.)?[\w.]{4,40}|(?<![\w.@])@(?=\w{0,30}[_\d])[A-Za-z][\w.]{3,30}(?:@[\w.-]{3,40})?"
    r"|(?<![\w/])u/[\w-]{3,20}"
    # a personal page: t.me/name, instagram.com/name
    r"|(?<![\w.])(?:t\.me|wa\.me|(?:www\.)?(?:instagram|twitter|facebook|fb|tiktok|snapchat|threads|x)\.com"
    r"|(?:www\.)?linkedin\.com/in)/@?[\w.-]{3,40}"
)
# Such as "snapchat anna.b9": the dot or the digits show that the name is no word.
_BESIDE_NETWORK: Final = Lazy(
    rf"(?<!\w)(?:{'|'.join(patterns('networks'))}) "
    r"(?P<name>[a-z]\w{3,20}[._][a-z0-9]\w{0,20}|[a-z]{6,30}\d{2,4})(?![\w.])",
    re.IGNORECASE,
)
_NETWORKS: Final = Lazy(rf"(?<!\w)(?:{'|'.join(patterns('networks'))})", re.IGNORECASE)


_NAMED_SO: Final = frozenset({"handle", "username", "nickname", "benutzername", "pseudo", "usuario"})


def emails(text: str) -> Iterator[Span]:
    """Addresses, also ones whose signs are spelled as words."""
    if "@" in text or "DOT" in text or not _SIGNS.isdisjoint(small_words_of(text)) or _UNSPACED_SIGN.search(text):
        yield from (found.span() for found in _EMAIL.finditer(text))


def handles(text: str) -> Iterator[Span]:
    """A user name in a network: `insta: @anna.s`."""
    if digits_in(text) or "@" in text or not small_words_of(text).isdisjoint(_NAMED_SO):
        for found in _AT_NETWORK.finditer(text):
            name = found["name"] or found["stated"] or found["id"]
            if found["name"] or re.search(r"[\d_@.]", name.rstrip(".")):
                yield next(found.span(group) for group in ("name", "stated", "id") if found[group])
    if any(sign in text for sign in ("@", "#", "live:", "/")):
        yield from (found.span() for found in _NUMBERED_NAME.finditer(text))
    yield from (found.span("name") for found in _AT_ME.finditer(text))
    if _NETWORKS.search(text):
        yield from (found.span("name") for found in _BESIDE_NETWORK.finditer(text))
        for found in _REACHED.finditer(text):
            if re.search(r"[\d_@#]|\w\.\w", found["name"]) or _SAYS_IT_IS.search(found[0]):
                yield found.span("name")
    if "@" not in text and ":" not in text:
        return
    for found in _HANDLE.finditer(text):
        # "instagram of cats" names no person.
        if "@" in found["sign"] or (":" in found["sign"] and re.search(r"[\d_.]", found["name"].rstrip("."))):
            yield found.start("sign") + max(0, found["sign"].find("@")), found.end("name")


# --- telephone numbers

_NUMBER_BEGINS: Final = Lazy(r"(?<![\d+])(?:\+\s?|00)?\(?\d")
_NUMBER: Final = Lazy(r"(?:\+\s?|00)?[(]?\d(?:\d|[ ()._\-/*~|=\u00b7\u2010-\u2015\u2022]){5,30}")
_GROUP: Final = Lazy(r"\d+(?![^\W_])")
_TRUNK: Final = Lazy(r"\(0\)")
_ABROAD: Final = ("+", "00")
_LENGTHS: Final = range(7, 18)
# Digits behind a word for calling, which count as a number in any country.
_SURE_LENGTHS: Final = range(9, 14)
_LONGEST_DATE: Final = 8
_REGIONS: Final = (
    "US", "GB", "DE", "FR", "ES", "IT", "BR", "PT", "NL", "PL", "RU", "TR", "IN", "JP", "CN", "KR", "MX",
    "GR", "IL", "CZ", "HU", "RO", "UA", "SE", "NO", "DK", "FI", "VN", "TH", "ID", "IR", "AT", "CH", "BE", "AU",
)  # fmt: skip
_CALL: Final = Lazy(rf"(?:{'|'.join(patterns('call'))})[^\d]{{0,30}}$", re.IGNORECASE)
_NORTH_AMERICAN: Final = Lazy(r"\(?\d{3}\)?[ ._~/\u00b7\u2022-]\s?\d{3}[ ._~/\u00b7\u2022-]\d{4}")
_DATES: Final = Lazy(r"[\d\s]*(?:19|20)\d\d\s?[-\u2010-\u2015/]\s?(?:19|20)?\d\d")
_BOOK: Final = Lazy(r"(?:\d{1,7}[- ]){3}\d")
_BOOK_LENGTHS: Final = (10, 13)
# Toll-free, premium-rate and shared-cost numbers, as `phonenumbers.PhoneNumberType` counts: a firm's, or a song's.
_OF_NOBODY: Final = (3, 4, 5)


_SPELLED: Final = {word: n for row in patterns("digits") for n, word in enumerate(row.split(", "))}
_SPELLED_WORD: Final = Lazy(r"[^\W\d_]+|\d+")
_FEWEST_SPELLED: Final = 7
_FEWEST_DIFFERENT: Final = 2
_GAP: Final = 3


def _spelled(text: str) -> Iterator[Span]:
    if len(_SPELLED.keys() & small_words_of(text)) < _FEWEST_DIFFERENT:
        return
    run: list[re.Match[str]] = []
    for word in (*_SPELLED_WORD.finditer(text), None):
        is_digit = word is not None and _digits_of(word[0]) is not None
        if word is not None and is_digit and (not run or word.start() - run[-1].end() <= _GAP):
            run.append(word)
            continue
        read = [(_digits_of(each[0]) or "", each[0].isdecimal()) for each in run]
        digits = "".join(value for value, _ in read)
        in_words = "".join(value for value, is_figure in read if not is_figure)
        steps = {int(b) - int(a) for a, b in pairwise(digits)}
        spelled = sum(not is_figure for _, is_figure in read)
        # A title may contain its number twice: "187 (One Eight Seven)".
        repeats = any(is_figure and value == in_words for value, is_figure in read)
        if not repeats and len(digits) >= _FEWEST_SPELLED and spelled > _FEWEST_DIFFERENT and not steps <= {1, -9}:
            yield run[0].start(), run[-1].end()
        run = [word] if word is not None and is_digit else []


def _digits_of(word: str) -> str | None:
    """Return the decimal digits of a figure or number word, if any.

    `str.isdigit` is also true for digits that no decimal system has (a circled or Ethiopic one), which `int` refuses.
    """
    if word.isdecimal():
        return plain(word)
    number = _SPELLED.get(word.casefold())
    return None if number is None else str(number % 10)


def phones(text: str) -> Iterator[Span]:
    """Telephone numbers, by country code, national form, or a nearby calling word."""
    yield from _spelled(text)
    if digits_in(text) < min(_LENGTHS):
        return
    text = plain(text)
    looks = taken = 0
    for begun in _NUMBER_BEGINS.finditer(text):
        if begun.start() and _is_latin(text[begun.start() - 1]) and text[begun.start()].isdigit():
            continue
        run = _NUMBER.match(text, begun.start()) if begun.start() >= taken else None
        if run is None:
            continue
        prefixes = [run[0][: group.end()] for group in _GROUP.finditer(run[0])]
        called = _CALL.search(text, max(0, run.start() - 45), run.start()) is not None
        # One in eleven telephone numbers of ten digits could be a book's.
        if not run[0].startswith("+") and numbers_a_thing(text[max(0, run.start() - 48) : run.start()]):
            taken = run.end()
            continue
        if not called and (book := next(filter(_is_book, prefixes), None)):
            taken = run.start() + len(book)
            continue
        # Other numbers may stand right behind: the longest run of groups that is a number counts.
        for raw in reversed(prefixes):
            if not (called or _is_formed(raw)):
                continue
            looks += 1
            if (
                looks > _MOST_LOOKS
                or (called and len(_digits(raw)) in _SURE_LENGTHS and not _is_dates(raw))
                or _is_phone(raw)
            ):
                yield run.start(), (taken := run.start() + len(raw))
                break


def _is_latin(character: str) -> bool:
    return character.isalpha() and character < "\u0250"


def _is_formed(raw: str) -> bool:
    abroad = raw.startswith(_ABROAD) or (raw.startswith(("0", "(0")) and len(_digits(raw)) > _LONGEST_DATE)
    return abroad or _NORTH_AMERICAN.fullmatch(raw) is not None


def _digits(raw: str) -> str:
    return re.sub(r"\D", "", raw)


def _is_dates(raw: str) -> bool:
    return _DATES.fullmatch(raw.strip()) is not None


def _is_phone(raw: str) -> bool:
    import phonenumbers  # noqa: PLC0415

    if len(_digits(raw)) not in _LENGTHS or _is_dates(raw):
        return False
    abroad = raw.startswith(_ABROAD)
    number = _digits(_TRUNK.sub("", raw))
    number = "+" + number.removeprefix("00") if abroad else number
    for region in (None,) if abroad else _REGIONS:
        try:
            parsed = phonenumbers.parse(number, region)
        except phonenumbers.NumberParseException:
            continue
        # Plans change, and short numbers of old lines are in none: what begins with a country is taken for one.
        if phonenumbers.is_valid_number(parsed) or (abroad and phonenumbers.is_possible_number(parsed)):
            return phonenumbers.number_type(parsed) not in _OF_NOBODY
    return False


def _is_book(raw: str) -> bool:
    from stdnum import isbn  # noqa: PLC0415

    digits = _digits(raw)
    if raw.startswith("+") or len(digits) not in _BOOK_LENGTHS or not isbn.is_valid(digits):
        return False
    # One in eleven numbers of ten digits has the check digit of a book's.
    return len(digits) == max(_BOOK_LENGTHS) or raw.isdigit() or _BOOK.fullmatch(raw) is not None
