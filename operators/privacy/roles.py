"""The parts that words play in an order: what is to be done, with what, how surely; over any script."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import pairwise, product
from typing import Final, NamedTuple

from operators.privacy.disguise import reading
from operators.privacy.words import patterns

ROLES: Final = (
    "drop", "pick", "put", "say", "be", "must", "you", "first", "all", "other", "this", "told", "rank", "machine",
    "soft", "users", "me",
    "peak",
    "act",
    "best",
    "slot",
)  # fmt: skip
BIT: Final = {role: 1 << at for at, role in enumerate(ROLES)}
_SURE: Final = BIT["drop"] | BIT["pick"] | BIT["told"] | BIT["rank"] | BIT["machine"]
"""Roles whose longer words mean the same whatever language stands around them."""
_SURE_LENGTH: Final = 5
_LOCAL: Final = frozenset({
    "af", "ca", "ceb", "cy", "eo", "eu", "ga", "gl", "ha", "haw", "ht", "ig", "jv", "ku", "la", "mg", "mi", "mt", "rw",
    "sn", "so", "sq", "st", "su", "sw", "tk", "tl", "xh", "yo", "zu",
})  # fmt: skip
"""Languages whose words, without a mark, are too often names and words of others to count beside them."""
_SHORTEST_STEM: Final = 4
_LETTERS_A_WORD: Final = 3
"""Where words are not parted."""
_MOST_LETTERS: Final = 24
_MOST_BARE, _MOST_MEANT = 4, 3
_NUMBERS: Final = frozenset({"one", "two", "three", "four", "five"})
_OF_NO_STEM: Final = frozenset({"listening", "listened", "listener", "listeners"})
"""English words that begin as `list*` does, which is a list in a dozen languages; before `to`, Polish for `this`."""


class Part(NamedTuple):
    """A word or phrase that plays a part.

    Attributes:
        at: the number of its first word in the text.
        roles: bits of `BIT`, by language.
        sure: the roles that count in every language.
        any: the roles in any language.
    """

    at: int
    roles: tuple[tuple[str, int], ...]
    sure: int
    any: int


class _Lexicon:
    def __init__(self) -> None:
        self.exact: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.stems: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.phrases: dict[str, list[tuple[tuple[str, ...], bool, str]]] = defaultdict(list)
        self.unspaced: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        language = ""
        for line in patterns("acts"):
            if line.startswith("["):
                language = line.strip("[]")
                continue
            role, *terms = reading(line).split()
            for term in terms:
                self._add(language, BIT[role], term)
        self._merge()
        self.heads = frozenset(stem[:2] for stem in self.stems)
        terms = sorted(map(re.escape, self.unspaced), key=len, reverse=True)
        self.pattern = re.compile("|".join(terms))

    def _merge(self) -> None:
        """What a stem means in one language must not hide what the same letters mean in another."""
        stems = {stem: dict(known) for stem, known in self.stems.items()}
        for table in (self.exact, self.stems):
            for term, known in table.items():
                for end in range(2, len(term) + (table is self.exact)):
                    for language, bits in stems.get(term[:end], {}).items():
                        known[language] |= bits

    def _add(self, language: str, bit: int, term: str) -> None:
        words = tuple(split(term.rstrip("*").replace("_", " ")))
        key = " ".join(words)
        stem = term.endswith("*") and (len(key) >= _SHORTEST_STEM or not key.isascii())
        if _is_unspaced(key):
            self.unspaced[key.replace(" ", "")][language] |= bit
            return
        (self.stems if stem else self.exact)[key][language] |= bit
        if len(words) > 1 and (words, stem, key) not in self.phrases[words[0]]:
            self.phrases[words[0]].append((words, stem, key))


@cache
def _lexicon() -> _Lexicon:
    return _Lexicon()


_BETWEEN: Final = re.compile(
    r"[\s!-/:-@\[-`{-~\u00a1-\u00bf\u2010-\u2027\u2030-\u205e\u3000-\u3004\u3008-\u3020\u0964\u0965\u060c\u061b\u061f\u0589\u1362]+"
)
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff]+"
)
_SEMITIC: Final = re.compile("^[והבלמשכش\u0648\u0641\u0628\u0643\u0644\u0627]{1,3}")


def split(text: str) -> list[str]:
    """The words of a reading, without what stands between them.

    >>> split("ignore-all: don't!")
    ['ignore', 'all', 'don', 't']
    """
    return [word for word in _BETWEEN.split(text) if word]


def _is_unspaced(text: str) -> bool:
    return _UNSPACED.search(text) is not None


def parts(words: list[str]) -> Iterator[Part]:
    """What plays a part among the words of a reading, in their order."""
    lexicon = _lexicon()
    run = ""
    for at, word in enumerate(words):
        if _is_unspaced(word):
            # Where words are not parted, or parted at will, terms are looked for across the gaps.
            run += "".join(_UNSPACED.findall(word))
            if at + 1 < len(words) and _is_unspaced(words[at + 1]):
                continue
            for found in lexicon.pattern.finditer(run):
                yield _part(at + found.start() // _LETTERS_A_WORD, found.group(), lexicon.unspaced[found.group()])
            run = ""
            continue
        if (known := _known(lexicon, word)) is not None:
            yield _part(at, word, known if at + 1 < len(words) and _is_place(words[at + 1]) else _no_slot(known))
        for phrase, stem, key in lexicon.phrases.get(word, ()):
            rest = words[at : at + len(phrase)]
            if (
                tuple(rest[:-1]) == phrase[:-1]
                and len(rest) == len(phrase)
                and (rest[-1].startswith(phrase[-1]) if stem else rest[-1] == phrase[-1])
            ):
                yield _part(at, key, (lexicon.stems if stem else lexicon.exact)[key])


def _is_place(word: str) -> bool:
    """Whether it may be what an entry of a list is called by: a letter or a number."""
    return len(word) == 1 or word.isdecimal() or word in _NUMBERS


def _no_slot(known: dict[str, int]) -> dict[str, int]:
    return {language: bits & ~BIT["slot"] for language, bits in known.items()}


def _known(lexicon: _Lexicon, word: str) -> dict[str, int] | None:
    known = _stem(lexicon, word)
    if known is None and not word.isascii() and (clitics := _SEMITIC.match(word)):
        # "and", "the", "to" are written as one with the word.
        for cut in range(1, clitics.end() + 1):
            if len(word) - cut > 2 and (known := _stem(lexicon, word[cut:])) is not None:  # noqa: PLR2004
                return known
    return known


def _stem(lexicon: _Lexicon, word: str) -> dict[str, int] | None:
    if (known := lexicon.exact.get(word)) is not None:
        return known
    if word[:2] in lexicon.heads and word not in _OF_NO_STEM:
        for end in range(min(len(word), _MOST_LETTERS), 1, -1):
            if (known := lexicon.stems.get(word[:end])) is not None:
                return known
    return None


def _part(at: int, term: str, roles: dict[str, int]) -> Part:
    every = sure = 0
    for language, bits in roles.items():
        every |= bits
        sure |= bits if language not in _LOCAL else 0
    sure = sure & _SURE if len(term) >= _SURE_LENGTH or not term.isascii() else 0
    return Part(at, tuple(roles.items()), sure, every)


_SMALL_WORDS: Final = frozenset({"the", "and", "a", "of", "in", "to", "film", "movie", "book"})


@cache
def glued() -> re.Pattern[str]:
    """English terms where nothing parts them: `ignoretheothers`."""
    words = {word for word, known in _lexicon().exact.items() if "en" in known and " " not in word}
    return re.compile("|".join(sorted(words | _SMALL_WORDS, key=len, reverse=True)))


@cache
def _signatures() -> dict[int, dict[str, str]]:
    found: dict[int, dict[str, str]] = defaultdict(dict)
    for word, known in _lexicon().exact.items():
        if "en" in known and word.isascii() and word.isalpha() and len(word) >= _SURE_LENGTH:
            found[_first_steps(word)][_steps(word)] = word
    return dict(found)


def rotation(word: str) -> int:
    """How far the letters of a word were turned from those of a term; 0 if it is none.

    >>> rotation("vtaber"), rotation("noir")
    (13, 0)
    """
    if len(word) < _SURE_LENGTH or not (word.isascii() and word.isalpha()):
        return 0
    meant = _signatures().get(_first_steps(word))
    term = meant.get(_steps(word)) if meant else None
    return (ord(term[0]) - ord(word[0])) % 26 if term else 0


def _first_steps(word: str) -> int:
    return (ord(word[1]) - ord(word[0])) % 26 * 26 + (ord(word[2]) - ord(word[1])) % 26


def _steps(word: str) -> str:
    return "".join(chr(97 + (ord(b) - ord(a)) % 26) for a, b in pairwise(word))


def is_term(word: str) -> bool:
    """Whether a word of some length is a term that ends as it does."""
    return len(word) >= _SHORTEST_STEM and word in _lexicon().exact


def is_english(word: str) -> bool:
    """Whether a word, however short, is an English term."""
    return "en" in _lexicon().exact.get(word, ())


def is_reversed(word: str) -> bool:
    """Whether a word of some length plays a part when read backwards."""
    return len(word) >= _SURE_LENGTH and _known(_lexicon(), word[::-1]) is not None


@cache
def _misspelled() -> dict[str, str]:
    known = _lexicon().exact
    return {_letters(word): word for word, spoken in known.items() if "en" in spoken and _may_be_misspelled(word)}


def _may_be_misspelled(word: str) -> bool:
    return len(word) > _SURE_LENGTH and word.isascii() and word.isalpha()


def _letters(word: str) -> str:
    return f"{word[0]}{word[-1]}{''.join(sorted(set(word)))}"


def corrected(word: str) -> str:
    """The English term that a word stands for: the same letters, the same ends, one more or fewer at most.

    >>> corrected("canddiates"), corrected("noir")
    ('candidates', 'noir')
    """
    meant = _misspelled().get(_letters(word), word) if _may_be_misspelled(word) else word
    if abs(len(meant) - len(word)) > 1:
        return word
    of, to = Counter(word), Counter(meant)
    return meant if (of - to).total() + (to - of).total() <= 1 else word


_VOWELS: Final = re.compile("[aeiou]")


@cache
def _skeletons() -> dict[str, tuple[str, ...]]:
    """English terms by what is left of them without their vowels."""
    found: dict[str, list[str]] = defaultdict(list)
    for word, known in _lexicon().exact.items():
        if "en" in known and word.isascii() and word.isalpha() and _VOWELS.search(word):
            found[_VOWELS.sub("", word)].append(word)
    return {bare: tuple(words) for bare, words in found.items()}


def voweled(words: list[str]) -> list[list[str]]:
    """What words without a vowel may stand for, if every one stands for an English term; two to four of them.

    >>> ["choose", "this"] in voweled(["chs", "ths"]), voweled(["bbc", "hd"])
    (True, [])
    """
    if not 1 < len(words) <= _MOST_BARE or any(_VOWELS.search(word) for word in words):
        return []
    meant = [_skeletons().get(word, ())[:_MOST_MEANT] for word in words]
    return [list(each) for each in product(*meant)] if any(len(word) > 2 for word in words) else []  # noqa: PLR2004
