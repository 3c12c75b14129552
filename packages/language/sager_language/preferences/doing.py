"""Forms of verbs that no file has: as a thing that one does, and as one person says it of themselves."""

import re
from typing import Final

from sager_language.preferences.language import Language

# Verbs of one short syllable double their last letter: `swapping`.
_SHORT: Final = re.compile(r"[^aeiou]*[aeiou][^aeiouwxy]")


def doing(verb: str, language: Language) -> str:
    """The verb of a habit as a thing that one does: `bringing` of `bring`, German `holen` of `hole`.

    Args:
        verb: as it stands behind `I`.
        language: whose file has the verbs that are called otherwise, or by what is done alone.
    """
    if verb in language.verbs:
        return language.verbs[verb]
    return _infinitive(verb) if language.name == "de" else _gerund(verb)


def alone_of(verb: str, language: Language) -> str:
    """The verb behind `we`, as it stands behind `I`."""
    return verb.removesuffix("n") if language.name == "de" else verb


def _gerund(verb: str) -> str:
    word, _, rest = verb.partition(" ")
    if word.endswith("ing"):
        return verb  # as it was said: "I've been volunteering at ..."
    if word.endswith("ie"):
        word = word[:-2] + "y"
    elif word.endswith("e") and not word.endswith(("ee", "oe", "ye")):
        word = word[:-1]
    elif _SHORT.fullmatch(word):
        word += word[-1]
    return f"{word}ing {rest}".rstrip()


def _infinitive(verb: str) -> str:
    return verb if verb.endswith("n") else f"{verb.removesuffix('e')}en"
