"""What a text says to who reads through its disguise: look-alike letters, stacked marks, what is invisible.

A reading is for judging, never for showing: it loses accents, which a name needs.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import groupby
from typing import Final

from operators.privacy.words import code_points, patterns
from operators.unicode import IGNORABLE, is_ignorable, nfkc

MAX_CHARS: Final = 16_000
_MOST_MARKS: Final = 4
"""On one letter. Vietnamese has two, pointed Hebrew and vocalised Arabic up to four."""
_WHOLE_WORD: Final = 3
_BIDI: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_JOINERS: Final = frozenset("\u200c\u200d")
_WESTERN: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "GEORGIAN", "CHEROKEE", "LISU", "COPTIC"})
_LIVING: Final = frozenset(
    {"CYRILLIC", "GREEK", "ARMENIAN", "GEORGIAN", "HEBREW", "ARABIC", "CJK", "HIRAGANA", "KATAKANA"}
)
_OVERLAYS: Final = frozenset(map(chr, range(0x334, 0x339)))
_STRIPPED: Final = frozenset({1, *range(10, 37), *range(200, 256)})
"""Combining classes of overlays, of Hebrew and Arabic points, and of marks around a letter."""


_UNSEEN: Final = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in IGNORABLE) + "]")


@cache
def _lookalikes() -> dict[int, str]:
    table = {}
    for line in patterns("lookalikes"):
        letter, _, spans = line.partition(" ")
        table.update(dict.fromkeys(code_points(spans), letter))
    return table


@cache
def _strokes() -> frozenset[int]:
    return frozenset(point for point, letter in _lookalikes().items() if letter == "l")


def reading(text: str) -> str:
    r"""The text in lower case, without invisible characters, marks and look-alikes.

    >>> reading("\uff29gn\u043er\u0435 a\u0335ll"), reading("\U0001f178\U0001f176\U0001f17d")
    ('ignore all', 'ign')
    """
    if text.isascii():
        return text[:MAX_CHARS].lower()
    table = _lookalikes()
    return _UNSEEN.sub("", _bare(text[:MAX_CHARS].casefold())).translate(table)


@lru_cache(maxsize=64)
def readings(text: str) -> tuple[str, ...]:
    """All readings of a text that differ, the plain one first."""
    first = reading(text)
    return tuple(dict.fromkeys((first, *filter(None, _others(text, first)))))


def _others(text: str, first: str) -> Iterator[str]:
    if not text.isascii():
        table = _lookalikes()
        # A capital may look like another letter than its small form does: U+0412 and U+0432.
        yield reading(_bare(text[:MAX_CHARS]).translate(table))
        # A bare stroke is an l or an i.
        yield _bare(text[:MAX_CHARS].casefold()).translate({**table, **dict.fromkeys(_strokes(), "i")})
        if any(c in _TURNED for c in text):
            yield text[:MAX_CHARS][::-1].translate(_UPSIDE_DOWN)
        yield from _hidden(text)
        if _BRAILLE.search(text):
            yield "".join(_BRAILLE_LETTERS.get(c, c) for c in text)
    if _LEET_WORD.search(first):
        yield first.translate(_LEET)
    if _CAMEL.search(text):
        yield reading(_CAMEL.sub(" ", text))
    if _SPELLED.search(first):
        yield _SPELLED.sub(lambda found: _close(found.group()), first)
    if _DOTTED.search(first):
        yield _DOTTED.sub(lambda found: re.sub(r"[\W_]", "", found.group()), first)
    if "_" in first:
        yield first.replace("_", " ")
    if _LONG.search(first):
        yield _LONG.sub(r"\1", first)
    if _MORSE.fullmatch(text):
        yield _of_morse(text)


_UPRIGHT: Final = "acefghijkmrtvwynupdqb"
_OVER: Final = "\u0250\u0254\u01dd\u025f\u0183\u0265\u1d09\u027e\u029e\u026f\u0279\u0287\u028c\u028d\u028eundpbq"
_TURNED: Final = frozenset(_OVER[:-6])
_UPSIDE_DOWN: Final = str.maketrans(_OVER, _UPRIGHT)
_LEET: Final = str.maketrans("01345789@$!|+\u20ac", "oieastbgasiite")
_LEET_WORD: Final = re.compile("[a-z][013457@$!|\u20ac]+(?:[a-z]|\\b)|\\b[01347+\u20ac]+[a-z]")
_LONG: Final = re.compile(r"([^\W\d_])\1{2,}")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SPELLED: Final = re.compile(r"(?<![^\W_])(?:[^\W_][\W_]{1,3}){4,}[^\W_](?![^\W_])")


def _of_morse(text: str) -> str:
    return " ".join("".join(_MORSE_LETTERS.get(c, "") for c in word.split()) for word in re.split(r"[/|]|  +", text))


def spelled_out(text: str) -> str:
    """A text whose letters are set apart by signs, or in Morse, as nobody writes a request, read; "" if it is not.

    >>> spelled_out("L|i|f|t| |m|e"), spelled_out("a film like Up")
    ('lift me', '')
    """
    if _MORSE.fullmatch(text):
        return _of_morse(text)
    first = reading(text)
    if (found := _BARRED.search(first)) is None:
        return ""
    told = _close(found.group())
    return first[: found.start()] + told + first[found.end() :]


_BARRED: Final = re.compile(r"(?:[^\W\d_][^\w\s]\s?[^\w\s]?){5,}[^\W\d_]?")
_DOTTED: Final = re.compile(r"(?<![^\W_])(?:[^\W_][.\-_*|/]){2,}[^\W_](?![^\W_])")
"""A word that is spelled with signs between its letters."""


def _close(spelled: str) -> str:
    gaps = re.findall(r"[\W_]+", spelled)
    usual = min(gaps, key=len)
    return re.sub(r"[\W_]+", lambda gap: "" if len(gap.group()) == len(usual) else " ", spelled)


_ALPHABET: Final = "abcdefghijklmnopqrstuvwxyz"
_DOTS: Final = "01 03 09 19 11 0b 1b 13 0a 1a 05 07 0d 1d 15 0f 1f 17 0e 1e 25 27 3a 2d 3d 35"
_BRAILLE: Final = re.compile("[\u2801-\u28ff]{3}")
_BRAILLE_LETTERS: Final = {chr(0x2800 + int(dots, 16)): c for dots, c in zip(_DOTS.split(), _ALPHABET, strict=True)}
_MORSE: Final = re.compile(r"[\s/|.\-\u2013\u00b7]{10,2000}")
_CODE: Final = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --.."
)
_MORSE_LETTERS: Final = dict(zip(_CODE.split(), _ALPHABET, strict=True))


def _hidden(text: str) -> Iterator[str]:
    """What tags spell, and the bytes that variation selectors carry."""
    told = bytearray()
    tags: list[str] = []
    for c in text[:MAX_CHARS]:
        if "\ufe00" <= c <= "\ufe0f":
            told.append(ord(c) - 0xFE00)
        elif "\U000e0100" <= c <= "\U000e01ef":
            told.append(ord(c) - 0xE0100 + 16)
        elif "\U000e0020" <= c <= "\U000e007e":
            tags.append(chr(ord(c) - 0xE0000))
    if len(told) > _MOST_MARKS:
        yield reading(told.decode(errors="replace"))
    if tags:
        yield reading("".join(tags))


@lru_cache(maxsize=4_096)
def _is_mark(character: str) -> bool:
    if unicodedata.category(character) == "Me":
        return True
    # Vowel signs, nuktas, viramas and voicing are letters; points, harakat, accents and overlays are not.
    return unicodedata.combining(character) in _STRIPPED


def _bare(text: str) -> str:
    if text.isascii():
        return text
    split = unicodedata.normalize("NFD", nfkc(text, MAX_CHARS)) if len(text) < 256 else _split(text)  # noqa: PLR2004
    return unicodedata.normalize("NFC", "".join(c for c in split if c.isascii() or not _is_mark(c)))


def _split(text: str) -> str:
    whole = nfkc(text, MAX_CHARS)
    return "".join(unicodedata.normalize("NFD", whole[at : at + 128]) for at in range(0, len(whole), 128))


def worn(text: str) -> str:
    r"""The words of a text that wear a disguise: letters of another alphabet's, or styled ones, or hidden signs.

    >>> worn("something dark \uff33\uff26"), worn("\u0442\u0440\u0438 caf\u00e9s")
    ('\uff33\uff26', '')
    """
    return "" if text.isascii() else " ".join(filter(_wears, text[:MAX_CHARS].split()))


def _wears(word: str) -> bool:
    return not word.isascii() and (
        disguised(word)
        or any(not c.isascii() and _is_styled(c) for c in word)
        or _LOOSE_MARK.search(unicodedata.normalize("NFC", word)) is not None
        or _HYPHENED.search(word) is not None
    )


_LOOSE_MARK: Final = re.compile("[a-zA-Z][\u0300-\u036f]")
"""A mark on a letter that no language sets there, or Unicode would have the two as one."""
_HYPHENED: Final = re.compile("\u00ad.\u00ad")


@lru_cache(maxsize=4_096)
def _is_styled(character: str) -> bool:
    """Whether it stands for an ASCII letter without being one with a mark, or a letter of a living script."""
    if _script(character) in _LIVING:
        return False
    if _script(character) == "LATIN" and unicodedata.normalize("NFD", character)[0].isascii():
        return False
    read = reading(character)
    return read.isascii() and read.strip("()").isalpha()


def disguised(text: str) -> bool:
    r"""Whether a text is written so that it reads otherwise than it is stored, as no value of a catalogue needs to be.

    >>> disguised("n\u043eir"), disguised("n\u034foir"), disguised("\u0422-34")
    (True, True, False)
    """
    return not text.isascii() and (_hides(text[:MAX_CHARS]) or any(map(_mixed, _WORD.findall(text[:MAX_CHARS]))))


_WORD: Final = re.compile(r"[^\W\d_]{2,}")


def _hides(text: str) -> bool:
    if _HYPHENED.search(text):
        return True
    marks = 0
    before = " "
    for at, c in enumerate(text):
        if c.isascii():
            marks = 0
        elif c in _BIDI or c in _OVERLAYS:
            return True
        elif is_ignorable(c):
            if not _belongs(c, before, text[at + 1 : at + 2]):
                return True
        elif (category := unicodedata.category(c)) in ("Mn", "Me"):
            marks += 1
            if marks > _MOST_MARKS or (category == "Me" and before.isalpha()):
                return True
        elif category in ("Co", "Cs") or (category == "Cn" and not _may_be_new(c)):
            return True
        else:
            marks = 0
        if not is_ignorable(c):
            before = c
    return False


def _may_be_new(character: str) -> bool:
    """Emoji and Han characters that are younger than this Python."""
    return "\U0001f000" <= character <= "\U0001fbff" or "\U00020000" <= character <= "\U0003ffff"


def _belongs(c: str, before: str, after: str) -> bool:
    """Whether an invisible character has its use here."""
    if c in "\u00ad\u061c":
        return True
    if c in _JOINERS or c in "\u200b\u200e\u200f\ufeff":
        return not (_western(before) and _western(after))
    if c in "\ufe0e\ufe0f":
        return not before.isalpha() and not before.isspace()
    if "\ufe00" <= c <= "\ufe0d" or "\U000e0100" <= c <= "\U000e01ef":
        return unicodedata.name(before, "").startswith("CJK") and not (after and is_ignorable(after))
    if "\u180b" <= c <= "\u180f":
        return "\u1800" <= before <= "\u18af"
    return "\U000e0020" <= c <= "\U000e007f" and before == "\U0001f3f4"


@lru_cache(maxsize=4_096)
def _script(character: str) -> str:
    return unicodedata.name(character, "").partition(" ")[0]


def _western(character: str) -> bool:
    return character.isalpha() and _script(character) in _WESTERN


def _mixed(word: str) -> bool:
    if word.isascii():
        return False
    scripts = [script for c in unicodedata.normalize("NFC", word) if (script := _script(c)) in _WESTERN]
    if len(set(scripts)) < 2:  # noqa: PLR2004
        return False
    runs = [len(list(run)) for _, run in groupby(scripts)]
    if len(runs) > 2:  # noqa: PLR2004
        return True
    # Two whole words of two scripts are a brand; one foreign letter that looks native is a disguise.
    foreign = [c for c in word if _script(c) not in ("LATIN", "")]
    return min(runs) < _WHOLE_WORD and all(ord(c) in _lookalikes() for c in foreign)
