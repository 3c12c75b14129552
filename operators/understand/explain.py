"""Explains to a person why their words changed nothing, and which words would."""

from collections.abc import Mapping, Sequence
from typing import Final

from operators.understand.understood import Understood
from schemas import Fact, NotUnderstood

MAX_CHARS: Final = 400
_EXAMPLE_CHARS: Final = 40
_WHY: Final[Mapping[NotUnderstood, str]] = {
    NotUnderstood.FOR_ANOTHER: "This is about another person's taste, so it changes nothing here.",
    NotUnderstood.NOT_KEPT: "Nothing else was understood. Say the wish alone, such as “no tofu” or “I like thrillers”.",
    NotUnderstood.NOT_READ: "This gives orders to a machine or means the opposite of its words, so it is not read.",
    NotUnderstood.OTHER_LANGUAGE: "The rules read English and German; a configured model reads other languages too.",
    NotUnderstood.NO_MEASURE: "A comparison needs items with that measure, such as a price, and none was shown.",
}


def explanation(understood: Understood, not_kept: Sequence[str], domain: str) -> str:
    """One to three sentences for the person; empty where all was understood and kept.

    >>> horror = Fact(dimension="genre", value="horror")
    >>> explanation(Understood(why=NotUnderstood.NO_WISH, examples=(horror,)), (), "films")
    'No known sentence says whether horror (genre) is wanted. Say “no horror” or “I like horror”.'
    >>> explanation(Understood(), ("health",), "food")
    'Not kept, because it is private: health.'
    """
    sentences = [f"Not kept, because it is private: {', '.join(not_kept)}."] if not_kept else []
    if understood.why is not None:
        sentences.append(_WHY.get(understood.why) or _by_names(understood.why, understood.examples, domain))
    return " ".join(sentences)[:MAX_CHARS]


def _by_names(why: NotUnderstood, examples: Sequence[Fact], domain: str) -> str:
    named = [f"{fact.value} ({fact.dimension.replace('_', ' ')})" for fact in examples]
    value = next((fact.value for fact in examples if len(fact.value) <= _EXAMPLE_CHARS), "")
    sentences = f"Say “no {value}” or “I like {value}”." if value else ""
    if why is NotUnderstood.NO_WISH:
        return f"No known sentence says whether {', '.join(named)} is wanted. {sentences}".strip()
    name = f"Name one, such as {', '.join(named)}. {sentences}" if named else "Name a genre, a maker or a price."
    return f"These words name no item and no value that {domain} has. {name}".strip()
