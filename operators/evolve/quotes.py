"""Discoveries that quote an item's text, and the items whose text has them (paper 2.5, Discover).

Code finds facts in metadata, and a model finds quotations in a description. Code counts both alike.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from operators.attributes import normalise
from operators.language.output_policy import OutputGate
from operators.language.privacy import Privacy
from operators.language.words import keywords, taste_words
from operators.statinit.text import label
from schemas import MAX_FACTS, Contrast, Fact, ItemFacts, PolicySkill, RefusalReason
from schemas.skills import MAX_QUOTE

# They fit items of every domain.
QUOTED_DIMENSIONS = ("theme", "style", "mood", "setting", "feature")
# More would describe the item, and not the reason to take it.
MAX_QUOTED, MAX_QUOTED_WORDS = 2, 3
_MIN_CHARS = 3
# Words on both sides of a value in its quote, and the longest list of values for one choice.
_AROUND, MAX_OFFERED_VALUES = 4, 60
_PARTS = re.compile(r"[.,;:!?()\"“”…/]+|\s[-–—]\s")  # noqa: RUF001 - dashes of texts


class Quotation(NamedTuple):
    """A value that a model found in an item's text, with the words around it."""

    fact: Fact
    quote: str


def mentions(texts: Iterable[str], value: str) -> bool:
    """Return True if one of the texts has the value, word by word.

    >>> mentions(["A Slow  Burn romance"], "slow-burn"), mentions(["slowly burning"], "slow-burn")
    (True, False)
    """
    return f"-{normalise(value)}-" in _words_of(tuple(texts))


@lru_cache(maxsize=8_192)
def _words_of(texts: tuple[str, ...]) -> str:
    # No normalised text has a bar, so no value reaches from one text into the next.
    return f"-{'-|-'.join(map(normalise, texts))}-"


def with_mentioned(item: ItemFacts, excerpt: str, values: Iterable[Fact]) -> ItemFacts:
    """Add the values that the item's title, excerpt or facts mention to its facts."""
    texts = (item.title, excerpt, *(fact.value for fact in item.facts))
    found = tuple(fact for fact in values if fact not in item.facts and mentions(texts, fact.value))[:MAX_FACTS]
    return item.model_copy(update={"facts": (*item.facts[: MAX_FACTS - len(found)], *found)}) if found else item


def line_values(skill: PolicySkill) -> tuple[str, ...]:
    """Return the values of a skill's lines."""
    return tuple(line.value for line in skill.attributes)


def quoted_values(skill: PolicySkill) -> tuple[Fact, ...]:
    """Return the values of a skill's quoted lines."""
    return tuple(Fact(dimension=line.dimension, value=line.value) for line in skill.attributes if line.quote)


def with_quoted(contrast: Contrast, quoted: Sequence[Quotation]) -> Contrast:
    """Add quoted values to the facts of all items of a choice that mention them."""
    values = [each.fact for each in quoted]
    chosen, *others = (
        with_mentioned(item, item.excerpt, values) for item in (contrast.chosen, *contrast.also, *contrast.unchosen)
    )
    also = len(contrast.also)
    return contrast.model_copy(
        update={"chosen": chosen, "also": tuple(others[:also]), "unchosen": tuple(others[also:])}
    )


def offered_quotations(item: ItemFacts, known: Collection[str], gate: OutputGate) -> dict[str, str]:
    """Return the values in an item's excerpt that a model may quote, each with its quote.

    `known` has values besides the item's facts. A model that writes values itself invents them: one of half a billion
    parameters, all thirteen of seven replies.
    """
    found: dict[str, str] = {}
    for part in _PARTS.split(item.excerpt):
        words = part.split()
        for start, size in ((start, size) for start in range(len(words)) for size in range(MAX_QUOTED_WORDS, 0, -1)):
            some = words[start : start + size]
            if len(some) < size or not (taste_words(some[0]) and taste_words(some[-1])):
                continue
            value = label(" ".join(some))
            quote = " ".join(words[max(0, start - _AROUND) : start + size + _AROUND])[:MAX_QUOTE]
            quotation = Quotation(Fact(dimension=QUOTED_DIMENSIONS[0], value=value), quote)
            if value and value not in found and refusal_of(quotation, item, known, gate) is None:
                found[value] = quote
    return dict(list(found.items())[:MAX_OFFERED_VALUES])


def private_kind(quotation: Quotation, domain: str, privacy: Privacy) -> str | None:
    """Return the kind of personal data in a quotation, if any."""
    found = privacy.redact_about_person(quotation.quote, domain, MAX_QUOTE).found
    return privacy.refuses(domain, *quotation.fact) or next(iter(found), None)


def refusal_of(quotation: Quotation, item: ItemFacts, known: Collection[str], gate: OutputGate) -> RefusalReason | None:
    """Return the reason to refuse a quotation of an item; None to keep it.

    The value stands in the quote, and the quote in the item's text: neither can be invented.
    """
    dimension, value = quotation.fact
    words = normalise(value)
    is_short = len(words) >= _MIN_CHARS and len(words.split("-")) <= MAX_QUOTED_WORDS and keywords(value)
    is_in_text = mentions([quotation.quote], value) and mentions((item.title, item.excerpt), quotation.quote)
    if dimension not in QUOTED_DIMENSIONS or not is_short or not is_in_text or words == normalise(item.title):
        return RefusalReason.UNSUPPORTED
    if mentions([*(fact.value for fact in item.facts), *known], value):
        return RefusalReason.ALREADY_SO
    return RefusalReason.WITHHELD if gate.rejection(dimension, value) is not None else None
