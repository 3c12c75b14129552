"""The reasoner with a model (paper 2.5, C.1): one call per contrast.

For each offered line the model quotes a fact before its verdict. It discovers offered facts, and values that
`operators.evolve.quotes` finds in the item's text.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from operators.attributes import fact_id, normalise
from operators.evolve.proposals import CountedContrast, Proposal
from operators.evolve.quotes import MAX_QUOTED, QUOTED_DIMENSIONS, Quotation, line_values, offered_quotations
from operators.habit_directions import is_habit
from operators.language.output_policy import OutputGate, facet_words
from operators.llm import CORRECTION_TOKENS, MAX_PROMPT_TOKENS, ModelClient, ask, strict_object
from operators.prompts import as_data, template
from operators.tokens import count_tokens
from schemas import Attribute, Contrast, Facet, Fact, ItemFacts, Judgement, PolicySkill, Provenance, Verdict
from schemas.items import MAX_EXCERPT

PROMPT = "evolve.v3"
NONE = "none"
MAX_DISCOVERED = 2
# More lines would leave no room for the item's facts in the prompt.
MAX_JUDGED = 24
MAX_LEFT = 9
MAX_LEFT_FACTS = 6
MAX_COMMUNITY = 7
MAX_ANALYSIS_CHARS = 400

_TITLE_CHARS, _FACT_CHARS, _FACET_CHARS, _REQUEST_CHARS = 80, 72, 90, 300
_NEAR_MISSES, _FEW = 3, 12
# Returns the quotation of a dimension and a value in prompts and answers.
Quote = Callable[[str, str], str]


@dataclass
class PromptDraft:
    """A prompt's parts during cutting, most important first in each.

    `attributes` are keyed by the answer's property, `facts` by their quotation. Unchosen items start with the easy
    contrasts. Facts in `keep`, by attribute id, are cut last.
    """

    title: str
    excerpt: str
    request: str
    community: list[str]
    attributes: dict[str, Attribute]
    facts: dict[str, Fact]
    left: list[str]
    keep: list[str]

    @property
    def blocks(self) -> dict[str, str]:
        """The parts by their tags."""
        return {
            "request": self.request or "(none)",
            "community": _block(self.community),
            "left": _block(self.left),
            "chosen": "\n".join([f"title: {self.title or '(none)'}", *(f"- {quoted}" for quoted in self.facts)]),
            "text": self.excerpt or "(none)",
        }

    def shrink(self) -> None:
        """Remove the least informative part."""
        if len(self.left) > _NEAR_MISSES:
            self.left.pop(0)
        elif self.community:
            self.community.pop()
        elif len(self.attributes) > _FEW:
            self.attributes.popitem()
        elif len(self.facts) > _FEW:
            self._forget_a_fact()
        elif self.excerpt:
            self.excerpt = ""
        elif self.left:
            self.left.pop(0)
        elif self.request:
            self.request = ""
        elif len(self.attributes) >= len(self.facts):
            self.attributes.popitem()
        else:
            # Keep the last fact longest: without one there is nothing to ask.
            self._forget_a_fact()

    def _forget_a_fact(self) -> None:
        places = {name: place for place, name in enumerate(self.keep)}
        # max() takes the first of equals; the parser's last fact must go first.
        last_first = reversed(self.facts)
        del self.facts[max(last_first, key=lambda quoted: places.get(fact_id(self.facts[quoted]), len(places)))]


def quote_fact(dimension: str, value: str) -> str:
    """Quote a fact or a line in its own words."""
    return as_data(f"{dimension}: {value}", _FACT_CHARS)


def make_quote(contrast: Contrast, lines: Iterable[Attribute], gate: OutputGate) -> Quote:
    """Return the function that quotes facts and lines.

    It numbers the values that the gate rejects. A number is the same wherever its value appears, so the model can
    compare values that it must not read.
    """

    @cache  # items of a list have much in common
    def named(dimension: str, value: str) -> tuple[str, str]:
        return normalise(dimension), normalise(value)

    items = [contrast.chosen, *contrast.unchosen]
    having = Counter(name for item in items for name in {named(fact.dimension, fact.value) for fact in item.facts})
    for line in lines:
        name = named(line.dimension, line.value)
        having[name] = max(having[name], gate.count_evidence_items(line))
    numbers: dict[tuple[str, str], int] = {}

    @cache
    def quote(dimension: str, value: str) -> str:
        name = named(dimension, value)
        if gate.rejection(dimension, value, having[name]) is None:
            return quote_fact(dimension, value)
        about = dimension if gate.policy.is_phrase(dimension.replace("_", " ")) else "fact"
        return quote_fact(about, f"no. {numbers.setdefault(name, len(numbers) + 1)}")

    return quote


def _block(lines: Iterable[str]) -> str:
    return "\n".join(lines) or "(nothing)"


def _community(facets: Iterable[Facet], gate: OutputGate) -> list[str]:
    surest = sorted(facets, key=lambda facet: -facet.confidence)
    worded = ((facet_words(facet, gate), facet.confidence) for facet in surest)
    lines = (f"- {as_data(words, _FACET_CHARS)} | {sure:.0%} sure" for words, sure in worded if words)
    return list(dict.fromkeys(lines))[:MAX_COMMUNITY]


def _left_line(item: ItemFacts, quote: Quote) -> str:
    facts = "; ".join(quote(fact.dimension, fact.value) for fact in item.facts[:MAX_LEFT_FACTS])
    return f"- {as_data(item.title, _TITLE_CHARS) or '(no title)'} | {facts}"


@dataclass(frozen=True)
class EvolveQuestion:
    """A question; lines by answer key, facts by their quotation, quotes by the value in the item's text."""

    prompt: str
    schema: Mapping[str, Any]
    attributes: Mapping[str, Attribute]
    facts: Mapping[str, Fact]
    quotes: Mapping[str, str] = field(default_factory=dict)


def build_question(
    contrast: Contrast, skill: PolicySkill, *, max_tokens: int, gate: OutputGate
) -> EvolveQuestion | None:
    """Ask about the lines on the chosen item's dimensions, if any.

    The surest and newest lines come first. Code counts habits, so they are left out. `max_tokens` includes a corrective
    retry.
    """
    dimensions = {fact.dimension for fact in contrast.chosen.facts}
    quote = make_quote(contrast, skill.attributes, gate)
    # A line that has proved nothing yet is judged too: else a model would see no line of a newcomer.
    tiered = [line for line in skill.attributes if (line.tier or line.support) and not is_habit(line.attribute_id)]
    relevant = [line for line in tiered if line.dimension in dimensions]
    relevant.sort(key=lambda a: (-a.tier, -a.confirmed_at, a.attribute_id))
    news = CountedContrast.of(contrast).new_facts(skill)
    facts: dict[str, Fact] = {}
    for fact in contrast.chosen.facts:
        facts.setdefault(quote(fact.dimension, fact.value), fact)
    draft = PromptDraft(
        title=as_data(contrast.chosen.title, _TITLE_CHARS),
        excerpt=as_data(contrast.chosen.excerpt, MAX_EXCERPT),
        request=as_data(contrast.instruction, _REQUEST_CHARS),
        community=_community(contrast.facets, gate),
        attributes=_keyed(relevant[:MAX_JUDGED], quote),
        facts=facts,
        # The last are the near-misses, which teach most (paper 2.5, Contrastive Input Construction).
        left=[_left_line(item, quote) for item in contrast.unchosen[-MAX_LEFT:]],
        keep=news,
    )
    offered_quotes = offered_quotations(contrast.chosen, line_values(skill), gate) if draft.excerpt else {}
    while draft.facts or draft.excerpt:
        quotes = offered_quotes if draft.excerpt else {}
        new = [quoted for quoted, fact in draft.facts.items() if fact_id(fact) in news]
        if not (draft.attributes or new or quotes):
            break
        profile = _block(f"- {key} | {quote(a.dimension, a.value)} | {a.tier}" for key, a in draft.attributes.items())
        offered = _block(f"- {quoted}" for quoted in new)
        prompt = template(PROMPT).substitute(draft.blocks, profile=profile, new=offered)
        if count_tokens(prompt) <= max_tokens - CORRECTION_TOKENS:
            schema = _schema(draft.attributes, draft.facts, new, quotes)
            return EvolveQuestion(prompt, schema, draft.attributes, draft.facts, quotes)
        draft.shrink()
    return None


def _keyed(attributes: Iterable[Attribute], quote: Quote) -> dict[str, Attribute]:
    """Key each line by its own words, which small models follow best."""
    keyed: dict[str, Attribute] = {}
    for number, attribute in enumerate(attributes, 1):
        dimension, _, value = quote(attribute.dimension, attribute.value).partition(": ")
        # A value in another script gets a number; the prompt shows its words.
        key = f"{_ascii(dimension) or 'line'}_{_ascii(value) or number}"[:56].rstrip("_")
        while key in keyed:
            key = f"{key}_{number}"
        keyed[key] = attribute
    return keyed


def _ascii(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().casefold()
    return re.sub(r"[^a-z0-9]+", "_", plain).strip("_")


def _schema(
    attributes: Collection[str], facts: Iterable[str], new: Collection[str], quotes: Collection[str]
) -> dict[str, Any]:
    properties: dict[str, Any] = {"analysis": {"type": "string", "maxLength": MAX_ANALYSIS_CHARS}}
    properties |= {key: {"$ref": "#/$defs/judgement"} for key in attributes}
    if new:
        entry = {"type": "string", "enum": list(new)}
        properties["discovered"] = {"type": "array", "items": entry, "maxItems": MAX_DISCOVERED}
    if quotes:
        enums = {"value": list(quotes), "dimension": list(QUOTED_DIMENSIONS)}
        parts: dict[str, Any] = {name: {"type": "string", "enum": values} for name, values in enums.items()}
        properties["quoted"] = {"type": "array", "items": strict_object(parts), "maxItems": MAX_QUOTED}
    schema = strict_object(properties)
    if attributes:
        fact = {"type": "string", "enum": [*facts, NONE]}
        verdict = {"type": "string", "enum": [str(each) for each in Verdict]}
        judgement = strict_object({"fact": {"$ref": "#/$defs/fact"}, "verdict": verdict})
        schema["$defs"] = {"fact": fact, "judgement": judgement}
    return schema


@dataclass(frozen=True)
class LlmReasoner:
    """Asks a model to judge a skill's lines against a choice."""

    client: ModelClient
    gate: OutputGate

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """Propose changes by at most one call, or raise ReasonerUnavailable."""
        question = build_question(contrast, skill, max_tokens=MAX_PROMPT_TOKENS, gate=self.gate)
        if question is None:
            return Proposal(reasoned_by=Provenance(reasoner="llm"))
        reply = await ask(self.client, PROMPT, question.prompt, question.schema)
        return parse_answer(question, reply.answer, reply.reasoned_by(PROMPT))


def parse_answer(question: EvolveQuestion, answer: Mapping[str, Any], reasoned_by: Provenance) -> Proposal:
    """Return the proposal of an answer that fits the schema.

    A verdict without a fact counts as unrelated. Weakening is conservative (paper 2.5): a fact contradicts only lines
    of its own dimension that the chosen item does not state. Small models break both rules.
    """
    stated = {fact_id(fact) for fact in question.facts.values()}
    reinforced: list[str] = []
    weakened: list[str] = []
    reasons: dict[str, str] = {}
    judged: list[Judgement] = []
    for key, attribute in question.attributes.items():
        quoted, verdict = answer[key]["fact"], Verdict(answer[key]["verdict"])
        fact = question.facts.get(quoted)
        judged.append(Judgement(attribute_id=attribute.attribute_id, verdict=verdict, quoted=fact))
        if fact is None or verdict is Verdict.UNRELATED:
            continue
        name, reason = attribute.attribute_id, f"the chosen item has {quote_fact(fact.dimension, fact.value)}"
        if verdict is Verdict.SUPPORTS:
            reinforced.append(name)
            reasons[name] = reason
        elif fact.dimension == attribute.dimension and name not in stated:
            weakened.append(name)
            reasons[name] = f"{reason} instead"
    discovered = dict.fromkeys(answer.get("discovered", ()))
    return Proposal(
        reinforced=tuple(reinforced),
        discovered=tuple(question.facts[quoted] for quoted in discovered),
        quoted=tuple(
            Quotation(Fact(dimension=each["dimension"], value=each["value"]), question.quotes[each["value"]])
            for each in answer.get("quoted", ())
        ),
        weakened=tuple(weakened),
        reasons=reasons,
        analysis=as_data(answer["analysis"], MAX_ANALYSIS_CHARS),
        judged=tuple(judged),
        reasoned_by=reasoned_by,
    )
