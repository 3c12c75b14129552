"""The normal form of words, in which they are compared."""

import re
import unicodedata
from typing import Final

from sager_language.unicode import nfkc

MAX_FOLDED_CHARS: Final = 2_400
_BETWEEN_WORDS: Final = re.compile(r"[^\w$+&#]+")


def normalise(text: str) -> str:
    """Return a text in NFKC, casefolded, with words joined by `-`; empty if it has no word.

    Of a longer text the first 2,400 characters count.

    >>> normalise("  Science Fiction "), normalise("C#")
    ('science-fiction', 'c#')
    """
    folded = nfkc(nfkc(text, MAX_FOLDED_CHARS).casefold(), MAX_FOLDED_CHARS)
    if not folded.isascii():
        folded = "".join(c if _in_a_word(c) else " " for c in folded)
        return "-".join(folded.split())
    return _BETWEEN_WORDS.sub("-", folded).strip("-")


def _in_a_word(character: str) -> bool:
    # Marks are the vowels of Hindi or Thai, symbols are emoji and currencies: without them, words fall into one.
    if character.isascii():
        return character.isalnum() or character in "_$+&#"
    return character.isalnum() or unicodedata.category(character)[0] in "MNS"
