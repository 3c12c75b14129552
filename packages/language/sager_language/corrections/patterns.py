"""Compiles the sentence patterns of language files into linear-time expressions.

| written | means |
|---|---|
| `want` | the word |
| `(like|love)` | one of them |
| `[really]`, `[very|too]` | one of them, or nothing |
| `{dont}` | the section `words`' entry for that name |
| `&(to|than)`, `!(me)` | one of them follows, or none of them does |
| `{w}` | any word |
| `{x}`, `{y}` | a name: of a fact or an item, or of several |
| `{m}` | a comparison, such as `cheaper` |
| `{measure}` | the name of a measure, such as `the price` |
| `{n}` | an amount, such as `20 euros` |

Nothing in it repeats without a limit, and each pattern is tried only where a clause begins.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from sager_language.corrections.tokens import Token, tokens
from sager_language.text import Lazy

MAX_SLOT_WORDS: Final = 12
MAX_DEPTH: Final = 8
FACT: Final = "\ue000"
ITEM: Final = "\uf000"
# Replaces a quotation, which is no statement of the person.
OPAQUE: Final = "\uf8ff"
LAST_FACT: Final = "\uefff"
LAST_ITEM: Final = "\uf8fe"
# Behind each token stands a space, or a tab where a sentence may end there.
BETWEEN: Final = r"[ \t]"
ENDED: Final = r"(?<=\t)"
WORD: Final = rf"(?![.,:?]{BETWEEN})[^ \t{OPAQUE}]+{BETWEEN}"
_PARTS: Final = re.compile(r"\{[a-z0-9-]+\}|[!&]?\(|[)\[\]|]|[.,:?]|[^\s()\[\]{}|.,:?]+")
_OPENS: Final = {"(": "(?:", "[": "(?:", "&(": "(?=", "!(": "(?!"}
_CLOSES: Final = {")": "(", "]": "["}
_SLOTS: Final = {"x": rf"(?P<x>(?:{WORD}){{1,{MAX_SLOT_WORDS}}}?)", "y": rf"(?P<y>(?:{WORD}){{1,{MAX_SLOT_WORDS}}}?)"}


class BadPattern(ValueError):
    """A pattern of a language's file cannot be read."""


def expression(pattern: str, words: Mapping[str, str], depth: int = 0) -> str:
    """Return a pattern's regular expression, over tokens that end with white space.

    Raises:
        BadPattern: brackets do not match, or a name is not known or means itself.

    >>> expression("i (like|love) [{it}]", {"it": "it|this"}).replace(BETWEEN, " ")
    'i (?:like |love )(?:(?:it |this ))?'
    """
    if depth > MAX_DEPTH:
        raise BadPattern(f"{pattern!r} goes in circles")
    made: list[str] = []
    opened: list[str] = []
    for part in _PARTS.findall(pattern):
        if part in _OPENS:
            opened.append(part[-1])
            made.append(_OPENS[part])
        elif part in _CLOSES:
            if not opened or opened.pop() != _CLOSES[part]:
                raise BadPattern(f"the brackets of {pattern!r} do not match")
            made.append(")" if part == ")" else ")?")
        elif part == "|":
            made.append("|")
        elif part.startswith("{"):
            made.append(_named(part[1:-1], words, depth))
        else:
            made.extend(re.escape(word.text) + BETWEEN for word in _read(part))
    if opened:
        raise BadPattern(f"the brackets of {pattern!r} do not match")
    return "".join(made)


def _named(name: str, words: Mapping[str, str], depth: int) -> str:
    if name in _SLOTS:
        return _SLOTS[name]
    if name not in words:
        raise BadPattern(f"nothing is called {name}")
    said = words[name]
    return said if said.startswith("(?") else f"(?:{expression(said, words, depth + 1)})"


def literals(pattern: str) -> Iterator[str]:
    """The words of a pattern that represent themselves."""
    for part in _PARTS.findall(pattern):
        if not part.startswith("{") and part not in (*_OPENS, *_CLOSES, "|"):
            yield from (word.text for word in _read(part) if word.is_word)


@lru_cache(maxsize=8_192)
def _read(part: str) -> tuple[Token, ...]:
    # "it's" is two words in a text: a pattern may begin with the second.
    return tuple(tokens(part.lstrip("'")))


class Sections:
    """The sections that languages are loaded from.

    Args:
        name: the language's, for messages.
        sections: its file's lines, by section.

    Attributes:
        name: the language's.
        words: the pattern for each name in braces, filled by the loader.
    """

    def __init__(self, name: str, sections: Mapping[str, tuple[str, ...]]) -> None:
        self.name = name
        self.words: dict[str, str] = {}
        self._sections = sections

    def expand(self) -> None:
        """Make each name's expression once; hundreds of patterns use it."""
        made = {}
        for name, said in self.words.items():
            try:
                made[name] = said if said.startswith("(?") else f"(?:{expression(said, self.words)})"
            except BadPattern as error:
                raise BadPattern(f"{self.name}: {name}: {error}") from None
        self.words = made

    def lines(self, section: str) -> tuple[str, ...]:
        """The lines of a section; none where there is no such section."""
        return self._sections.get(section, ())

    def made(self, pattern: str) -> str:
        """The expression of one pattern.

        Raises:
            BadPattern: it cannot be read; the message names the language and the line.
        """
        try:
            return expression(pattern, self.words)
        except BadPattern as error:
            raise BadPattern(f"{self.name}: {error}") from None

    def alternatives(self, section: str) -> str:
        """The expression that any line of a section makes."""
        made = [self.made(line) for line in self.lines(section)]
        # A section without lines matches nothing.
        return f"(?:{'|'.join(made)})" if made else "(?!)"

    def anywhere(self, section: str) -> Lazy:
        """Return the expression that finds a section's lines at word starts."""
        return Lazy(rf"(?<!\S){self.alternatives(section)}")

    def plain(self, section: str) -> frozenset[str]:
        """The words of a section."""
        return frozenset(word.text for line in self.lines(section) for word in tokens(line))
