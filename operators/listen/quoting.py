"""Quotations: found in what a person said, however it is spaced and spelt; and whether words stand in them."""

import re
from dataclasses import dataclass
from typing import Final

from operators.attributes import normalise
from operators.unicode import nfkc
from operators.words import words

MIN_QUOTE_CHARS: Final = 2
SHORT_WORD_CHARS: Final = 4
MIN_STEM_CHARS: Final = 4
MAX_ENDING_CHARS: Final = 3
_SHORT_ENDINGS: Final = frozenset({"", "s", "es", "e", "n", "en", "ing", "ning"})
_APOSTROPHES: Final = frozenset("\u2018\u2019\u201a\u201b\u02bc`\u00b4\u2032")
_EMPTY: Final = frozenset(
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
"""Words that say nothing of what somebody likes, besides those that `operators.words` leaves out."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A text as it is compared, with the place in the text of each of its characters."""

    text: str
    places: tuple[int, ...]


def folded(text: str) -> Folded:
    """A text in one case, its apostrophes alike and its white space single.

    >>> folded("I\u2019m  FINE").text
    "i'm fine"
    """
    said: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        plain = "'" if character in _APOSTROPHES else nfkc(character, 8).casefold()
        for each in plain:
            one = each if each.isprintable() and not each.isspace() else " "
            if one == " " and (not said or said[-1] == " "):
                continue
            said.append(one)
            places.append(place)
    return Folded("".join(said), tuple(places))


def quoted(quotation: str, said: str) -> tuple[int, int] | None:
    """Where a quotation stands in what was said, in whole words; None if it does not.

    What is found is what was said, to the letter, even where the quotation spells it otherwise.

    >>> quoted("i can't stand  Coriander.", "Well, I can\u2019t stand coriander, sorry")
    (6, 29)
    >>> quoted("I like coriander", "I can't say that I dislike coriander") is None
    True
    """
    sought = folded(quotation.strip().strip("\u201c\u201d\u201e\"'.,;:!?\u2026 ")).text.strip()
    if len(sought) < MIN_QUOTE_CHARS:
        return None
    whole = folded(said)
    found = re.search(rf"(?<!\w){re.escape(sought)}(?!\w)", whole.text)
    return None if found is None else (whole.places[found.start()], whole.places[found.end() - 1] + 1)


def content(text: str) -> frozenset[str]:
    """The words of a text that say what it is about.

    >>> sorted(content("I really like the morning runs"))
    ['morning', 'runs']
    """
    return words(text) - _EMPTY


def is_said(value: str, words_of: str) -> bool:
    """Whether all that a value is about stands in these words, in whatever grammatical form.

    >>> is_said("morning runs", "running in the morning"), is_said("evening runs", "running in the morning")
    (True, False)
    """
    about = content(value)
    return bool(about) and all(_stands(word, content(words_of)) for word in about)


def is_meant(value: str, words_of: str) -> bool:
    """Whether at least one word of what a value is about stands in these words.

    >>> is_meant("evening runs", "running in the morning"), is_meant("jazz", "running in the morning")
    (True, False)
    """
    spoken = content(words_of)
    return any(_stands(word, spoken) for word in content(value))


def _stands(word: str, spoken: frozenset[str]) -> bool:
    return word in spoken or any(_same_stem(word, other) for other in spoken)


def _same_stem(one: str, other: str) -> bool:
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    ends = one[shared:], other[shared:]
    if min(len(one), len(other)) <= SHORT_WORD_CHARS:
        # Short words of one stem differ in a grammatical ending, and others in any letter.
        return shared >= SHORT_WORD_CHARS - 1 and _SHORT_ENDINGS.issuperset(ends)
    return shared >= MIN_STEM_CHARS and max(map(len, ends)) <= MAX_ENDING_CHARS
