"""Whose taste a text tells of: what is said of somebody else, or for them, says nothing of the person."""

from enum import Enum

from sager_language.corrections.language import Language
from sager_language.personal import Wish, wish_of


class Whose(Enum):
    """Whose taste a text tells of."""

    THE_PERSONS = 1
    ANOTHER = 2
    # Somebody else's, and perhaps the person's: what says `I` is theirs.
    BOTH = 3


def whose(text: str, spelt: str, language: Language) -> Whose:
    """Whose taste a text tells of.

    Args:
        text: as the person wrote it.
        spelt: its words, each with a space behind it.
        language: that it is in.
    """
    if language.for_person_too.search(spelt):
        return Whose.THE_PERSONS
    if language.for_another.search(spelt):
        return Whose.ANOTHER
    # It knows fifteen languages, and rather takes a wish for somebody else's.
    is_told = language.of_another.search(spelt) is not None or wish_of(text) is Wish.FOR_ANOTHER
    return Whose.BOTH if is_told else Whose.THE_PERSONS
