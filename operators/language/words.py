"""The words of a text, and comparisons of texts by their words."""

from functools import lru_cache
from typing import Final

from operators.attributes import normalise
from schemas import PolicySkill

_COMMON = frozenset(
    """
    a an and any are at be but for from have i in is it like me my of on or some something that the this to want with
    would you
    """.split()  # noqa: SIM905 - as prose it can be read
)
SHORT_WORD_CHARS: Final = 4
MIN_STEM_CHARS: Final = 4
MAX_ENDING_CHARS: Final = 3
_SHORT_ENDINGS: Final = frozenset({"", "s", "es", "e", "n", "en", "ing", "ning"})
# Words that name no taste, besides the common ones.
_TASTELESS: Final = frozenset(
    part
    for word in """
    about again also always am as been being can cannot could did do does don doing done every for get getting go goes
    going got had has having he her here him his how i'd i'll i'm i've into its just keep keeps kind lately like liked
    likes little love loved loves lot m made make makes making many more most much never no not now of off often one
    only or other our out over person prefer preferred prefers quite rather re really s she should so some sort such t
    than their them then there these they thing things those to too up us usually ve very was way we were what when
    where which who will would your aber als am an auch auf aus bei bin das dem den der des die doch du ein eine einem
    einen einer es für gern gerne habe ich im immer ist kein keine mag man mehr mein meine mich mir mit nicht nie noch
    nur oder schon sehr sich sie sind so und uns viel von vor war was wenn wie wir wird zu zum zur über
    """.split()  # noqa: SIM905 - as prose it can be read
    for part in normalise(word).split("-")
)
_PART: Final = 2_000
# A word and its plural share at least this many letters.
SAME_LETTERS: Final = 4

WordSet = frozenset[str]


@lru_cache(maxsize=8_192)
def keywords(text: str) -> frozenset[str]:
    """Return the words of a text without the most common ones.

    >>> sorted(keywords("Something like the Sci-Fi of 1984"))
    ['1984', 'fi', 'sci']
    """
    return frozenset(normalise(text).split("-")) - _COMMON - {""}


def plain_words(text: str) -> WordSet:
    """Return the keywords of a text, or else all words.

    >>> sorted(plain_words("Long runs in the morning")), sorted(plain_words("for me"))
    (['long', 'morning', 'runs'], ['for', 'me'])
    """
    return keywords(text) or all_words(text)


def all_words(text: str) -> WordSet:
    """Return all words of a text in normal form."""
    # In parts, because `normalise` cuts long texts, and an erasure must find words anywhere.
    parts = (text[at : at + _PART] for at in range(0, len(text), _PART))
    return frozenset(word for part in parts for word in normalise(part).split("-")) - {""}


def has_word(spoken: WordSet, word: str) -> bool:
    """Return True if a text has a word, extended or shortened.

    >>> has_word(plain_words("noodles with peanut sauce"), "peanuts"), has_word(plain_words("a teapot"), "tea")
    (True, False)
    """
    return word in spoken or any(
        min(len(one), len(word)) >= SAME_LETTERS and (one.startswith(word) or word.startswith(one)) for one in spoken
    )


def taste_words(text: str) -> frozenset[str]:
    """Return the words of a text that can name a taste.

    >>> sorted(taste_words("I really like the morning runs"))
    ['morning', 'runs']
    """
    return keywords(text) - _TASTELESS


def mentions_all(value: str, plain_words: str) -> bool:
    """Return True if a text has all words of a value, inflected.

    >>> mentions_all("morning runs", "running in the morning"), mentions_all("evening runs", "running in the morning")
    (True, False)
    """
    about = taste_words(value)
    return bool(about) and all(_is_among(word, taste_words(plain_words)) for word in about)


def mentions_any(value: str, plain_words: str) -> bool:
    """Return True if a text has any word of a value."""
    spoken = taste_words(plain_words)
    return any(_is_among(word, spoken) for word in taste_words(value))


def _is_among(word: str, spoken: frozenset[str]) -> bool:
    return word in spoken or any(_same_stem(word, other) for other in spoken)


def _same_stem(one: str, other: str) -> bool:
    alike = enumerate(zip(one, other, strict=False))
    shared = next((at for at, (left, right) in alike if left != right), min(len(one), len(other)))
    ends = one[shared:], other[shared:]
    if min(len(one), len(other)) <= SHORT_WORD_CHARS:
        # Short words share a stem only if they differ in a grammatical ending.
        return shared >= SHORT_WORD_CHARS - 1 and _SHORT_ENDINGS.issuperset(ends)
    return shared >= MIN_STEM_CHARS and max(map(len, ends)) <= MAX_ENDING_CHARS


def relevant_to(instruction: str, skill: PolicySkill) -> frozenset[str]:
    """Return ids of the attributes that the instruction names (paper 2.3).

    This includes lines that the instruction speaks against, so it only orders likes and never adds a line.
    """
    asked = keywords(instruction)
    return frozenset(
        line.attribute_id
        for line in skill.attributes
        if asked and (named := keywords(line.value)) and all(_is_among(word, asked) for word in named)
    )
