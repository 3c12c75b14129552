"""Explains to a person why their words changed nothing, and which words would."""

from collections.abc import Mapping, Sequence
from typing import Final

from operators.language.understood import Understood
from operators.understand.known import wishes_about
from schemas import Fact, NotUnderstood

MAX_CHARS: Final = 400
CHOSEN: Final = "No preference is stated: what suits counts as a choice from the list shown."
NOT_COUNTED: Final = "No preference is stated, and nothing is counted: this profile has stopped learning."
NEWER: Final = "A newer statement about the same holds, so these words change nothing."
_WHY: Final[Mapping[NotUnderstood, str]] = {
    NotUnderstood.FOR_ANOTHER: "This is about another person's taste, so it changes nothing here.",
    NotUnderstood.NOT_READ: "This gives orders to a machine or means the opposite of its words, so it is not read.",
    NotUnderstood.OTHER_LANGUAGE: "The rules read English and German; a configured model reads other languages too.",
    NotUnderstood.NO_MEASURE: "A comparison needs items with that measure, such as a price, and none was shown.",
}


def explanation(understood: Understood, not_kept: Sequence[str], domain: str, effect: str = "") -> str:
    """One to three sentences for the person; empty where all was understood, stated and kept.

    Args:
        understood: the reading of their words.
        not_kept: kinds of private data that were left out.
        domain: of the items.
        effect: the sentence about words that state nothing.

    >>> horror = Fact(dimension="genre", value="horror")
    >>> explanation(Understood(why=NotUnderstood.NO_WISH, examples=(horror,)), (), "films")
    'No known sentence says whether horror (genre) is wanted. Say “no horror” or “I like horror”.'
    >>> explanation(Understood(), ("health",), "food")
    'Not kept, because it is private: health.'
    """
    sentences = [f"Not kept, because it is private: {', '.join(not_kept)}."] if not_kept else []
    sentences += [effect] if effect else []
    if understood.why is not None:
        sentences.append(_WHY.get(understood.why) or _by_names(understood.why, understood.examples, domain))
    return " ".join(sentences)[:MAX_CHARS]


def _by_names(why: NotUnderstood, examples: Sequence[Fact], domain: str) -> str:
    named = [f"{fact.value} ({fact.dimension.replace('_', ' ')})" for fact in examples]
    wishes = " or ".join(f"“{each}”" for each in (wishes_about(examples[0]) if examples else ()))
    say = f"Say {wishes}." if wishes else ""
    if why is NotUnderstood.NOT_KEPT:
        return f"Nothing else was understood. Say the wish alone{f', such as {wishes}' if wishes else ''}."
    if why is NotUnderstood.NO_WISH:
        about = ", ".join(named) or "that item or value"
        return f"No known sentence says whether {about} is wanted. {say}".strip()
    name = f"Name one, such as {', '.join(named)}. {say}" if named else "No example is known there."
    return f"These words name no item and no value that {domain} has. {name}"
