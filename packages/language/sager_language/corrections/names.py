"""Names of facts and items in a text, the longest first."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from sager_language.corrections.tokens import STOPS, Token, tokens
from sager_language.types import Fact, Item

MAX_NAME_WORDS: Final = 24
MIN_STEM_CHARS: Final = 3
MIN_PART_CHARS: Final = 4
_FIRST_WORD: Final = re.compile(r"\d+[.,]\d+|[\w$+&#]+")
Words = tuple[str, ...]
Endings = tuple[tuple[str, str], ...]
# Values by another name for them; the first value that is known counts.
OtherNames = Mapping[Words, tuple[Words, ...]]


@dataclass(frozen=True, slots=True)
class Named:
    """The facts or items of a name; several if it is ambiguous."""

    facts: tuple[Fact, ...] = ()
    items: tuple[str, ...] = ()

    @property
    def fact(self) -> Fact | None:
        """The one fact that it names, or None."""
        return self.facts[0] if len(self.facts) == 1 else None

    @property
    def item(self) -> str | None:
        """The single item that it names, if it names no fact."""
        return self.items[0] if len(self.items) == 1 and not self.facts else None


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a text: the tokens from `first` up to `end`."""

    first: int
    end: int
    named: Named


class Names:
    """All that words about these items can name.

    Args:
        items: what the person sees, the first place first.
        known: facts of the person's skill, which can be named too.
        vocabulary: further facts of the domain.
        about: the id of the item that the correction is about, if it is about one.
        endings: of words in this language, each with its simple form; the longest first.
        other_names: the language's other names for values.
    """

    def __init__(
        self,
        items: Sequence[Item],
        known: Sequence[Fact],
        vocabulary: Sequence[Fact],
        about: str | None,
        endings: Endings = (),
        other_names: OtherNames = MappingProxyType({}),
    ) -> None:
        self._other_names = other_names
        self._items = items
        self._shown = frozenset(fact for item in items for fact in item.facts)
        asked = frozenset(fact for item in items if item.item_id == about for fact in item.facts)
        self._near = (asked, self._shown, frozenset(known))
        self._endings = endings
        self._exact: dict[Words, Named] = {}
        self._facts = tuple(dict.fromkeys((*(fact for item in items for fact in item.facts), *known, *vocabulary)))
        self.dimension_words = frozenset(word for fact in self._facts for word in fact.dimension.split("_"))
        titles = _titles(items)
        self.shared_titles = frozenset(word for words, ids in titles.items() if len(ids) > 1 for word in words)
        self._enter(titles)
        self._stems: dict[Words, Named | None] = {}
        self._enter_other_names()
        for words, named in self._exact.items():
            stem = self._stem(words)
            other = self._stems.get(stem, named)
            # Two names share a stem: only the exact spelling decides.
            self._stems[stem] = named if other == named else None
        self._longest: dict[str, int] = {}
        for words in (*self._exact, *self._stems):
            self._longest[words[0]] = max(self._longest.get(words[0], 0), len(words))

    def of(self, words: Words) -> Named | None:
        """Return the exact target of these words, or None."""
        return self._exact.get(words) or self._stems.get(self._stem(words)) if words else None

    def part(self, words: Words) -> Fact | None:
        """Return the single shown fact whose value contains these words."""
        if not words or len("".join(words)) < MIN_PART_CHARS or all(word.isdigit() for word in words):
            return None
        found = {fact for fact in self._shown if _holds(self._stem(name_words(fact.value)), self._stem(words))}
        return found.pop() if len(found) == 1 else None

    def find(self, text: Sequence[Token], reserved: frozenset[str]) -> list[Mention]:
        """Return the longest names of a text; none has only `reserved` words."""
        found: list[Mention] = []
        at = 0
        while at < len(text):
            mention = self._at(text, at, reserved)
            if mention is not None:
                found.append(mention)
            at = mention.end if mention else at + 1
        return found

    def having(self, fact: Fact) -> tuple[str, ...]:
        """The ids of the shown items that have this fact."""
        return tuple(item.item_id for item in self._items if fact in item.facts)

    def together(self, facts: Sequence[Fact]) -> bool:
        """Return True if one shown item has all of these facts."""
        return any(set(facts) <= set(item.facts) for item in self._items)

    def _at(self, text: Sequence[Token], at: int, reserved: frozenset[str]) -> Mention | None:
        first = text[at].text
        longest = max(self._longest.get(first, 0), self._longest.get(self._stem((first,))[0], 0))
        for size in range(min(longest, len(text) - at), 0, -1):
            words = tuple(token.text for token in text[at : at + size])
            if words[-1] not in STOPS and not reserved.issuperset(words) and (named := self.of(words)):
                return Mention(at, at + size, named)
        return None

    def _enter(self, titles: dict[Words, tuple[str, ...]]) -> None:
        meant: dict[Words, list[Fact]] = {}
        for fact in self._facts:
            for words in _spellings(fact.value):
                meant.setdefault(words, []).append(fact)
        for words, facts in meant.items():
            self._exact[words] = Named(self._nearest(facts), titles.get(words, ()))
        for words, ids in titles.items():
            if len(ids) == 1:
                self._exact.setdefault(words, Named(items=ids))

    def _enter_other_names(self) -> None:
        by_value: dict[Words, list[Fact]] = {}
        for fact in self._facts:
            by_value.setdefault(_bare(name_words(fact.value)), []).append(fact)
        taken = {self._stem(words) for words in self._exact}
        for name, values in self._other_names.items():
            facts = next(filter(None, map(by_value.get, values)), None)
            if facts and self._stem(name) not in taken:
                self._exact.setdefault(name, Named(self._nearest(facts)))

    def _nearest(self, facts: Sequence[Fact]) -> tuple[Fact, ...]:
        ways = ([fact for fact in facts if fact in near] for near in self._near)
        return tuple(dict.fromkeys(next(filter(None, ways), facts)))

    def _stem(self, words: Words) -> Words:
        return tuple(stem_of(word, self._endings) for word in words)


def may_be_named(
    facts: Sequence[Fact], words: Iterable[str], other_names: OtherNames = MappingProxyType({})
) -> tuple[Fact, ...]:
    """Return the facts that a text with these words may name.

    A vocabulary has thousands of values, and to read one takes longer than to see that it is not there.
    """
    beginnings = {word[:MIN_STEM_CHARS] for word in words}
    beginnings |= {
        value[0][:MIN_STEM_CHARS]
        for name, values in other_names.items()
        if name[0][:MIN_STEM_CHARS] in beginnings
        for value in values
    }
    return tuple(fact for fact in facts if _beginning(fact.value) in beginnings or not fact.value.isascii())


@lru_cache(maxsize=65_536)
def _beginning(value: str) -> str:
    first = _FIRST_WORD.search(value.casefold())
    return first[0][:MIN_STEM_CHARS] if first else ""


@lru_cache(maxsize=65_536)
def name_words(name: str) -> Words:
    """The words of a name, its stops included.

    >>> name_words("Dune: Part Two")
    ('dune', ':', 'part', 'two')
    """
    return tuple(token.text for token in tokens(name)[:MAX_NAME_WORDS])


@lru_cache(maxsize=65_536)
def stem_of(word: str, endings: Endings) -> str:
    """Return a word with its first matching ending replaced, if long enough.

    >>> stem_of("comedies", (("ies", "y"), ("s", ""))), stem_of("bus", (("ies", "y"), ("s", "")))
    ('comedy', 'bus')
    """
    for ending, simple in endings:
        if word.endswith(ending) and len(word) - len(ending) >= MIN_STEM_CHARS:
            stem = word[: -len(ending)] + simple
            # A long ending is the noun of a compound, such as "Actionfilme": its first part has endings too.
            return stem_of(stem, endings) if len(ending) > MIN_STEM_CHARS else stem
    return word


def _spellings(name: str) -> set[Words]:
    words = name_words(name)
    bare = _bare(words)
    return {bare, _trimmed(words)} if bare else set()


def _bare(words: Words) -> Words:
    return tuple(word for word in words if word not in STOPS)


def _trimmed(words: Words) -> Words:
    while words[0] in STOPS:
        words = words[1:]
    while words[-1] in STOPS:
        words = words[:-1]
    return words


def _titles(items: Iterable[Item]) -> dict[Words, tuple[str, ...]]:
    found: dict[Words, tuple[str, ...]] = {}
    for item in items:
        short = item.title.partition("(")[0].partition(": ")[0]
        for words in _spellings(item.title) | _spellings(short):
            found[words] = (*found.get(words, ()), item.item_id)
    return found


def _holds(whole: Words, part: Words) -> bool:
    size = len(part)
    return any(whole[at : at + size] == part for at in range(len(whole) - size + 1))
