"""Wishes to forget a known preference, in any wording."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sager_language.corrections.patterns import FACT
from sager_language.corrections.tokens import STOPS
from sager_language.corrections.units import Spelt, Unit
from sager_language.preferences.known import Knowledge, Known, Naming, with_signs
from sager_language.preferences.language import Language
from sager_language.preferences.sentences import Sentence
from sager_language.preferences.similarity import words_of
from sager_language.preferences.values import MAX_VALUE_CHARS
from sager_language.text import Lazy, normalise

MAX_GUESSED_WORDS: Final = 6


@dataclass(frozen=True)
class ForgetIntent:
    """A request to forget.

    Attributes:
        known: the known preferences that they name.
        guess: without a known one, the words that they use; empty for `that`.
    """

    known: tuple[Known, ...] = ()
    guess: str = ""


def may_forget(sentence: Sentence, knowledge: Knowledge) -> bool:
    """Return True if a sentence may be the user's request to forget.

    The name of a known preference may be another word of the wish: `delete the code` is about a text, and `forget that
    I code in Rust` is not.
    """
    language, text = sentence.language, sentence.spelt.text
    if language.not_forgets.search(text) and language.not_forgets.search(_without_names(sentence, knowledge)):
        return False
    return not sentence.is_question or language.asks_to.search(text) is not None


def _without_names(sentence: Sentence, knowledge: Knowledge) -> str:
    signed, _ = with_signs(sentence.units, knowledge.named(sentence.units))
    return Spelt.of(signed).text


def forget_intent_in(sentence: Sentence, knowledge: Knowledge) -> ForgetIntent | None:
    """Return the wish to forget in a sentence, if any."""
    language, text = sentence.language, sentence.spelt.text
    cues = language.forgets_cues.of(text)
    if not cues and not language.forgets_cues.erases.search(text):
        return None
    namings = knowledge.named(sentence.units) or knowledge.named_in_part(sentence.units)
    if not cues:
        signs = patterned(sentence.units, namings, language.forgets_named, begins=True)
        return ForgetIntent(tuple(signs)) if signs else None
    if near := _near(cues, namings, sentence.units, sentence.spelt):
        return ForgetIntent(tuple(naming.known for naming in near))
    return ForgetIntent(guess=_guessed(sentence, language))


def patterned(units: Sequence[Unit], namings: Sequence[Naming], pattern: Lazy, *, begins: bool = False) -> list[Known]:
    """Return the values that a pattern names, after `begins` at clause starts."""
    if not namings:
        return []
    signed, meant = with_signs(units, namings)
    spelt = Spelt.of(signed)
    text = spelt.text
    found: dict[Known, None] = {}
    for match in pattern.finditer(text):
        at = spelt.unit_at(match.start())
        if begins and at and signed[at - 1].text not in STOPS:
            continue
        first = text.count(FACT, 0, match.start())
        for known in meant[first : first + match[0].count(FACT)]:
            found |= dict.fromkeys(known)
    return list(found)


def _near(
    cues: Sequence[re.Match[str]], namings: Sequence[Naming], units: Sequence[Unit], spelt: Spelt
) -> list[Naming]:
    places = [spelt.unit_at(cue.start()) for cue in cues]
    parts = [sum(unit.text in STOPS for unit in units[:at]) for at in range(len(units) + 1)]
    near = [naming for naming in namings if any(parts[naming.first] == parts[at] for at in places)]
    return near or list(namings)


def _guessed(sentence: Sentence, language: Language) -> str:
    light = language.unsaying | language.corrections.light
    said = [unit for unit in sentence.units if unit.text not in STOPS | light and _says(unit.text)]
    told = [unit for unit in said if unit.text not in language.wishing] or said
    words = (sentence.text[unit.start : unit.end] for unit in told[:MAX_GUESSED_WORDS])
    return " ".join(words)[:MAX_VALUE_CHARS].strip()


def _says(word: str) -> bool:
    # Of a light word alone, `words_of` has the word itself.
    return len(word) > 1 and bool(normalise(word)) and len(words_of(f"x {word}")) > 1
