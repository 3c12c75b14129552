"""A text as words and stops, with their places.

Texts, patterns and names go through the same function, so that it does not matter how each was spelt.
"""

import unicodedata
from dataclasses import dataclass
from typing import Final

from sager_language.text import is_ignorable, nfkc

STOP, PAUSE, COLON, ASKS, QUOTE, INNER_QUOTE = ".", ",", ":", "?", '"', "'"
STOPS: Final = frozenset({STOP, PAUSE, COLON, ASKS, QUOTE, INNER_QUOTE})
# Of a text; what follows is not read.
MAX_TOKENS: Final = 1_000
# Of a letter with its marks: marks beyond this number belong to no real word.
MAX_CLUSTER_CHARS: Final = 8

_KIND_OF: Final = {
    **dict.fromkeys(".!;\u2026\u3002\u061b\u06d4\n\r", STOP),
    **dict.fromkeys("?\u061f\u037e\u2047\u2048\u2049", ASKS),
    ":": COLON,
    **dict.fromkeys(",()[]{}<>\u2013\u2014/\\|\u3001\u060c*~^=@%", PAUSE),
    **dict.fromkeys('"\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\u300c\u300d', QUOTE),
}
_APOSTROPHES: Final = frozenset("'\u2018\u2019\u201a\u201b\u02bc`\u00b4\u2032")
_IN_WORDS: Final = frozenset("_$+&#")
_BETWEEN_DIGITS: Final = frozenset(".,")


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a stop.

    Attributes:
        text: folded; a word has no space and none of the stops' characters.
        start: where it begins in the text.
        end: where it ends.
        is_letter: whether it is one capital letter by itself, as options are named.
    """

    text: str
    start: int
    end: int
    is_letter: bool = False

    @property
    def is_word(self) -> bool:
        """True for a word."""
        return self.text not in STOPS


def tokens(text: str) -> list[Token]:
    """Return a text's words and stops, without lines quoted by `>`.

    >>> [token.text for token in tokens("I don\u2019t want \u201cRed\u201d, or 2.4 GHz!")]
    ['i', 'don', 't', 'want', '"', 'red', '"', ',', 'or', '2.4', 'ghz', '.']
    """
    return _Tokenizer(text).run()


class _Tokenizer:
    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[Token] = []
        self._word: list[str] = []
        self._start = self._end = 0
        self._capital = False

    def run(self) -> list[Token]:
        text, at, line_begins = self._text, 0, True
        while at < len(text) and len(self._found) < MAX_TOKENS:
            if line_begins and text[at] == ">":
                at = _line_end(text, at)
                continue
            end = _cluster_end(text, at)
            line_begins = text[at] == "\n" or (line_begins and text[at].isspace())
            self._take(at, end)
            at = end
        self._close()
        return self._found[:MAX_TOKENS]

    def _take(self, at: int, end: int) -> None:
        character = self._text[at]
        if is_ignorable(character) or (category := unicodedata.category(character)) == "Cf":
            return
        if character in _APOSTROPHES:
            self._apostrophe(at, end)
        elif (kind := _KIND_OF.get(character)) is not None:
            self._stop(character, kind, at, end)
        elif character == "-":
            self._close()
            if self._before(at).isspace() and self._behind(end).isspace():
                self._found.append(Token(PAUSE, at, end))
        elif category[0] in "CZ":
            self._close()
        else:
            self._letters(at, end)

    def _letters(self, at: int, end: int) -> None:
        whole = nfkc(self._text[at : min(end, at + MAX_CLUSTER_CHARS)], 4 * MAX_CLUSTER_CHARS)
        capital = len(whole) == 1 and whole.isupper()
        for letter in nfkc(whole.casefold(), 4 * MAX_CLUSTER_CHARS):
            category = unicodedata.category(letter)
            if letter.isascii() and not (letter.isalnum() or letter in _IN_WORDS):
                # A compatibility form, such as a fullwidth stop, counts as the plain character.
                self._stop(letter, _KIND_OF.get(letter, ""), at, end)
            elif category in ("So", "Sk"):
                # A picture is a word of its own, wherever it is put.
                self._close()
                self._found.append(Token(letter, at, end))
            elif category[0] in "LMNS" or letter.isascii():
                self._add(letter, at, end, capital)
            else:
                self._close()

    def _stop(self, character: str, kind: str, at: int, end: int) -> None:
        if character in _BETWEEN_DIGITS and self._before(at).isdigit() and self._behind(end).isdigit() and self._word:
            self._add(character, at, end, capital=False)
            return
        self._close()
        # "node.js" and "St.Moritz" go on behind the point.
        if kind and not (character == "." and self._behind(end).isalnum()):
            self._found.append(Token(kind, at, end))

    def _apostrophe(self, at: int, end: int) -> None:
        self._close()
        if not (self._before(at).isalnum() and self._behind(end).isalnum()):
            self._found.append(Token(INNER_QUOTE, at, end))

    def _add(self, letter: str, at: int, end: int, capital: bool) -> None:
        if not self._word:
            self._start = at
        self._capital = capital and not self._word
        self._word.append(letter)
        self._end = end

    def _close(self) -> None:
        if self._word:
            word = "".join(self._word)
            self._found.append(Token(word, self._start, self._end, self._capital and len(word) == 1))
            self._word.clear()

    def _before(self, at: int) -> str:
        return self._text[at - 1] if at else " "

    def _behind(self, end: int) -> str:
        return self._text[end] if end < len(self._text) else " "


def _cluster_end(text: str, at: int) -> int:
    end = at + 1
    if text[at].isascii() and not text[at].isalnum():
        return end
    while end < len(text) and not text[end].isascii() and unicodedata.category(text[end])[0] == "M":
        end += 1
    return end


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
