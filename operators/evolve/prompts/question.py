"""The one question of an evolution (paper 2.5, C.1): code finds the facts and what may be named, the model judges.

Per existing line of the skill the model quotes the fact that it rests on before it gives its verdict, and it discovers
only among facts that code found not covered yet: the two shapes that hold even on small models.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

import orjson

from operators.attributes import fact_id
from operators.evolve.prompts import as_data, template
from schemas import Attribute, Contrast, Fact, ItemFacts, PolicySkill

PROMPT = "evolve.v1"
NONE = "none"
VERDICTS = ("supports", "unrelated", "contradicts")
MAX_DISCOVERED = 2
MAX_ANALYSIS_CHARS = 400
MAX_LEFT = 9
MAX_LEFT_FACTS = 6
CORRECTION_TOKENS = 100
"""Kept free for what the client adds to the prompt of a corrective retry."""

_TITLE_CHARS, _FACT_CHARS, _REQUEST_CHARS = 80, 72, 300
_NEAR_MISSES, _FEW, _SHORT_REQUEST_CHARS = 3, 12, 100


@dataclass(frozen=True)
class Question:
    """What the model is asked, and what its answer's words stand for.

    Attributes:
        prompt: the text.
        schema: the JSON schema that the answer must fit.
        attributes: the lines to judge, by the property that carries the verdict.
        facts: the chosen item's facts, by the words that the model quotes.
        new: the quotable words of those facts that no line covers.
    """

    prompt: str
    schema: Mapping[str, Any]
    attributes: Mapping[str, Attribute]
    facts: Mapping[str, Fact]
    new: tuple[str, ...]

    @property
    def longest_answer(self) -> str:
        """An answer as long as they come, to reckon the reply's token limit from."""
        fact = max(self.facts, key=len, default=NONE)
        answer: dict[str, Any] = {"analysis": "many words " * (MAX_ANALYSIS_CHARS // 11)}
        answer |= {key: {"fact": fact, "verdict": "contradicts"} for key in self.attributes}
        answer |= {"discovered": [fact] * MAX_DISCOVERED}
        return orjson.dumps(answer).decode()


def question(
    contrast: Contrast, skill: PolicySkill, *, count_tokens: Callable[[str], int], max_tokens: int, max_attributes: int
) -> Question | None:
    """The question that this contrast puts to this skill, or None if there is nothing to judge.

    Args:
        contrast: the chosen item and those left.
        skill: as it is now.
        count_tokens: how long a text is.
        max_tokens: the prompt's budget, a corrective retry's addition included.
        max_attributes: most lines to judge; those on the chosen item's dimensions, by tier, then recency.
    """
    draft = _Draft.of(contrast, skill, max_attributes)
    while draft.asks and count_tokens(draft.prompt) > max_tokens - CORRECTION_TOKENS:
        draft.shrink()
    if not draft.asks:
        return None
    return Question(
        draft.prompt, _schema(draft.attributes, draft.facts, draft.new), draft.attributes, draft.facts, draft.new
    )


@dataclass
class _Draft:
    """A prompt's parts while they are cut to its budget."""

    title: str
    request: str
    attributes: dict[str, Attribute]
    facts: dict[str, Fact]
    left: list[str]
    covered: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, contrast: Contrast, skill: PolicySkill, max_attributes: int) -> "_Draft":
        facts: dict[str, Fact] = {}
        for fact in contrast.chosen.facts:
            facts.setdefault(_words(fact.dimension, fact.value), fact)
        dimensions = {fact.dimension for fact in facts.values()}
        relevant = [attribute for attribute in skill.attributes if attribute.dimension in dimensions]
        relevant.sort(key=lambda a: (-a.tier, -a.confirmed_at, a.attribute_id))
        return cls(
            title=as_data(contrast.chosen.title, _TITLE_CHARS),
            request=as_data(contrast.instruction, _REQUEST_CHARS),
            attributes=_keyed(relevant[:max_attributes]),
            facts=facts,
            # The last are the near-misses, which teach most (paper 2.5, Contrastive Input Construction).
            left=[_left_line(item) for item in contrast.unchosen[-MAX_LEFT:]],
            covered=frozenset(attribute.attribute_id for attribute in skill.attributes),
        )

    @property
    def new(self) -> tuple[str, ...]:
        return tuple(words for words, fact in self.facts.items() if fact_id(fact) not in self.covered)

    @property
    def prompt(self) -> str:
        lines = (f"- {key} | {_words(a.dimension, a.value)} | {a.tier}" for key, a in self.attributes.items())
        return template(PROMPT).substitute(
            request=self.request or "(none)",
            profile=_block(lines),
            left=_block(self.left),
            chosen="\n".join([f"title: {self.title or '(none)'}", *(f"- {words}" for words in self.facts)]),
            new=_block(f"- {words}" for words in self.new),
        )

    @property
    def asks(self) -> bool:
        return bool(self.facts) and bool(self.attributes or self.new)

    def shrink(self) -> None:
        """Takes away the least telling part: easy contrasts, long requests, then unsure lines and later facts."""
        if len(self.left) > _NEAR_MISSES:
            self.left.pop(0)
        elif len(self.request) > _SHORT_REQUEST_CHARS:
            self.request = as_data(self.request, max(_SHORT_REQUEST_CHARS, len(self.request) // 2))
        elif len(self.attributes) > _FEW:
            self.attributes.popitem()
        elif len(self.facts) > _FEW:
            self.facts.popitem()
        elif self.left:
            self.left.pop(0)
        elif self.request:
            self.request = ""
        else:
            # The last fact stays: without one there is nothing to ask.
            longer: dict[str, Any] = max(self.attributes, self.facts, key=len)
            longer.popitem()


def _words(dimension: str, value: str) -> str:
    return as_data(f"{dimension}: {value}", _FACT_CHARS)


def _left_line(item: ItemFacts) -> str:
    facts = "; ".join(_words(fact.dimension, fact.value) for fact in item.facts[:MAX_LEFT_FACTS])
    return f"- {as_data(item.title, _TITLE_CHARS) or '(no title)'} | {facts}"


def _block(lines: Iterable[str]) -> str:
    return "\n".join(lines) or "(nothing)"


def _keyed(attributes: Iterable[Attribute]) -> dict[str, Attribute]:
    """A property name per attribute: its own words, which small models follow better than numbers.

    Only letters, digits and `_`: behind some OpenAI-compatible endpoints names become tool parameters or grammar
    rules, where `:` or a space is refused. With a number added against twins, never over the common limit of 64.
    """
    keyed: dict[str, Attribute] = {}
    for number, attribute in enumerate(attributes, 1):
        value = _ascii(attribute.value)
        # A name in another script keeps its dimension and gets a number; its words stand in the prompt.
        key = f"{_ascii(attribute.dimension) or 'line'}_{value or number}"[:56].rstrip("_")
        others = (f"{key}_{n}" for n in count(number))
        keyed[next(name for name in chain([key], others) if name not in keyed)] = attribute
    return keyed


def _ascii(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().casefold()
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_")


def _schema(attributes: Iterable[str], facts: Iterable[str], new: Iterable[str]) -> dict[str, Any]:
    """The facts stand in it once, by reference: endpoints that put the schema into the context charge for each copy."""
    properties: dict[str, Any] = {"analysis": {"type": "string", "maxLength": MAX_ANALYSIS_CHARS}}
    properties |= {key: {"$ref": "#/$defs/judgement"} for key in attributes}
    if quotable := list(new):
        entry = {"type": "string", "enum": quotable}
        properties["discovered"] = {"type": "array", "items": entry, "maxItems": MAX_DISCOVERED}
    judgement = {"fact": {"$ref": "#/$defs/fact"}, "verdict": {"type": "string", "enum": list(VERDICTS)}}
    schema = _object(properties)
    if any(True for _ in attributes):
        fact = {"type": "string", "enum": [*facts, NONE]}
        schema["$defs"] = {"fact": fact, "judgement": _object(judgement)}
    return schema


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
