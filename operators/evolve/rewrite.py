"""The question of full replacement (paper 3.4, Table 5): which facts and old lines make up the skill from now on."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from operators.asks import strict_object
from operators.attributes import fact_id
from operators.evolve.choice import Choice
from operators.evolve.draft import MAX_ANALYSIS_CHARS, Draft, Quote, block, quoting, words
from operators.evolve.replace import MAX_LINES, Replacement
from operators.prompts import as_data, template
from operators.vouch import Vouching
from schemas import Attribute, Contrast, Fact, PolicySkill, ReasonedBy, Tier

PROMPT = "evolve-replace.v1"
TIERS = tuple(str(tier) for tier in reversed(Tier) if tier)


@dataclass(frozen=True)
class Rewrite:
    """A question to the model, with the meaning of its answer's words.

    Attributes:
        prompt: the text.
        schema: the JSON schema that the answer must fit.
        lines: the skill's lines that can be kept, by the words that the model copies.
        facts: the chosen item's facts, by the words that the model copies.
    """

    prompt: str
    schema: Mapping[str, Any]
    lines: Mapping[str, Attribute]
    facts: Mapping[str, Fact]

    @property
    def longest_answer(self) -> str:
        """The longest possible answer, for the reply's token limit."""
        line = max([*self.facts, *self.lines], key=len)
        skill = [{"line": line, "tier": "medium"}] * MAX_LINES
        return orjson.dumps({"analysis": "many words " * (MAX_ANALYSIS_CHARS // 11), "skill": skill}).decode()


def rewrite(
    contrast: Contrast,
    skill: PolicySkill,
    *,
    count_tokens: Callable[[str], int],
    max_tokens: int,
    max_attributes: int,
    vouching: Vouching,
) -> Rewrite | None:
    """The question for a new skill, or None if the chosen item has no fact to write it from.

    Args:
        contrast: the chosen item, those left, and what the community says.
        skill: the old one.
        count_tokens: how long a text is.
        max_tokens: the prompt's budget, a corrective retry's addition included.
        max_attributes: most lines that can be kept, by tier, then recency; further ones are forgotten.
        vouching: what vouches for values; others are shown by number.
    """
    quote = quoting(contrast, skill.attributes, vouching)
    old = sorted([a for a in skill.attributes if a.tier], key=lambda a: (-a.tier, -a.confirmed_at, a.attribute_id))
    lines_by_words = _quotable(old[:max_attributes], quote)
    draft = Draft.of(contrast, lines_by_words, Choice.of(contrast).offered(), vouching, quote)

    def write() -> str:
        if not draft.facts:
            return ""
        lines = (f"- {copied} | {line.tier}" for copied, line in draft.attributes.items())
        return template(PROMPT).substitute(draft.blocks, profile=block(lines), most=MAX_LINES)

    prompt = draft.fit(write, count_tokens, max_tokens)
    if prompt is None:
        return None
    return Rewrite(prompt, _schema(draft.facts, draft.attributes), draft.attributes, draft.facts)


def replacement(asked: Rewrite, answer: Mapping[str, Any], reasoned_by: ReasonedBy) -> Replacement:
    """The new skill that an answer which fits the question's schema gives; of a line named twice, the first holds."""
    facts: dict[str, tuple[Fact, Tier]] = {}
    kept: dict[str, Tier] = {}
    reasons: dict[str, str] = {}
    for entry in answer["skill"]:
        copied, tier = entry["line"], Tier.parse(entry["tier"])
        if copied in asked.facts:
            fact = asked.facts[copied]
            facts.setdefault(name := fact_id(fact), (fact, tier))
            reasons[name] = f"the chosen item has {words(fact.dimension, fact.value)}"
        else:
            kept.setdefault(asked.lines[copied].attribute_id, tier)
    return Replacement(
        facts=tuple(facts.values()),
        kept=kept,
        reasons=reasons,
        analysis=as_data(answer["analysis"], MAX_ANALYSIS_CHARS),
        reasoned_by=reasoned_by,
    )


def _quotable(attributes: Iterable[Attribute], quote: Quote) -> dict[str, Attribute]:
    quotable: dict[str, Attribute] = {}
    for attribute in attributes:
        quotable.setdefault(quote(attribute.dimension, attribute.value), attribute)
    return quotable


def _schema(facts: Iterable[str], lines: Iterable[str]) -> dict[str, Any]:
    line = {"type": "string", "enum": list(dict.fromkeys([*facts, *lines]))}
    entry = strict_object({"line": line, "tier": {"type": "string", "enum": list(TIERS)}})
    return strict_object(
        {
            "analysis": {"type": "string", "maxLength": MAX_ANALYSIS_CHARS},
            "skill": {"type": "array", "items": entry, "maxItems": MAX_LINES},
        }
    )
