"""What rules know of the sentence in which a model found something: that it asks, tells of others, or quotes them."""

import re
from enum import Enum

from sager_language.preferences.finding import Effect
from sager_language.preferences.own import Span
from sager_language.preferences.sentences import MAX_SENTENCE_CHARS, sentences

_ENDS = re.compile(
    r"\b(any ?more|any longer|no longer|not now|used to|once|former\w*|stop\w*|quit\w*|gave up|giv\w+ up|sick of"
    r"|tired of|over|done with|chang\w+|these days|instead|mehr"
    r"|nicht länger|früher|einst|aufgehört|satt|leid|statt\w*)\b",
    re.IGNORECASE,
)
_ERASES = re.compile(
    r"\b(forg\w+|remember\w*|delet\w+|eras\w+|remov\w+|wip\w+|drop\w*|stri\w+|discard\w*|unlearn\w*|memory|note\w*"
    r"|verg[ei]ss\w*|erinner\w*|merk\w*|lösch\w*|streich\w*|entfern\w*)\b",
    re.IGNORECASE,
)
_STOPS = ".!?\u2026\u3002\n"


class Speaks(Enum):
    """How a sentence stands to the person who wrote it."""

    # For all that rules know, it tells of them.
    FOR_THEM = 1
    OF_OTHERS = 2
    # It asks, or says what somebody else says.
    NOT_FOR_THEM = 3


def withdraws(words: str, effect: Effect) -> bool:
    """Whether the person has a word for it that something is over: small models find that in plain statements.

    Of other languages than English and German none is known: there a model takes nothing away.
    """
    return (_ERASES if effect is Effect.FORGETS else _ENDS).search(words) is not None


def speaks(span: Span, start: int, end: int) -> Speaks:
    """How the sentence stands to the person in which a quotation from `start` to `end` of their words stands."""
    text = span.text
    until = min((place for stop in _STOPS if (place := text.find(stop, end - 1)) >= 0), default=len(text))
    if text[until : until + 1] == "?":
        return Speaks.NOT_FOR_THEM
    begin = max(text.rfind(stop, 0, start) for stop in _STOPS) + 1
    # Read by itself: what stands elsewhere in a long text costs nothing here.
    for sentence in sentences(text[begin : until + 1], MAX_SENTENCE_CHARS):
        spelt, language = sentence.spelt.text, sentence.language
        if language.others.search(spelt):
            return Speaks.OF_OTHERS
        if language.blocks.search(spelt) or language.takes_back.match(spelt):
            return Speaks.NOT_FOR_THEM
    return Speaks.FOR_THEM
