"""LLM_Ext (paper 2.3, C.2): a model chooses among the skill's lines."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from operators.language.output_policy import OutputGate
from operators.language.words import relevant_to
from operators.llm import CORRECTION_TOKENS, MAX_PROMPT_TOKENS, ModelClient, ask, strict_object
from operators.prompts import as_data, template
from operators.slim.rules import Shares, build_slim, max_likes, phrases
from operators.slim.selection import SlimSelection
from operators.slim.statements import MAX_LIKE_CHARS
from operators.tokens import count_tokens
from schemas import Attribute, PolicySkill, Provenance, SlimSkill

PROMPT = "slim.v1"
NONE = "none"

_REQUEST_CHARS = 300
_PHRASE_CHARS = MAX_LIKE_CHARS + len("prefers ")


@dataclass(frozen=True)
class LlmExtract:
    """Extractor of slim skills: a model chooses likes and style."""

    client: ModelClient
    gate: OutputGate
    name: str = "llm"

    async def extract(
        self, skill: PolicySkill, instruction: str = "", budget: int = 30, population: Shares = None
    ) -> tuple[SlimSkill, Provenance]:
        """Extract the slim skill for a task; raises ReasonerUnavailable."""
        asked = slim_question(skill, instruction, budget, population, max_tokens=MAX_PROMPT_TOKENS, gate=self.gate)
        if asked is None:
            return build_slim(skill, {}, {}, budget, self.gate), Provenance(reasoner=self.name)
        likes, styles, by = await self._ask(asked)
        return build_slim(skill, likes, styles, budget, self.gate), by

    async def select(self, skill: PolicySkill, budget: int, population: Shares = None) -> SlimSelection | None:
        """Select lines for every task; None without lines. Raises ReasonerUnavailable."""
        asked = slim_question(skill, "", budget, population, max_tokens=MAX_PROMPT_TOKENS, gate=self.gate)
        if asked is None:
            return None
        likes, styles, by = await self._ask(asked)
        return SlimSelection(tuple(line.attribute_id for line in (likes | styles).values()), by)

    async def _ask(self, asked: "SlimQuestion") -> tuple[dict[str, Attribute], dict[str, Attribute], Provenance]:
        reply = await ask(self.client, PROMPT, asked.prompt, asked.schema)
        likes = dict(asked.likes[words] for words in reply.answer.get("likes", ()))
        style = asked.styles.get(reply.answer.get("style", NONE))
        return likes, {} if style is None else dict((style,)), reply.reasoned_by(PROMPT)


@dataclass(frozen=True)
class SlimQuestion:
    """A question to the model; phrases with their lines, by key."""

    prompt: str
    schema: Mapping[str, Any]
    likes: Mapping[str, tuple[str, Attribute]]
    styles: Mapping[str, tuple[str, Attribute]]


def slim_question(
    skill: PolicySkill, instruction: str, budget: int, population: Shares = None, *, max_tokens: int, gate: OutputGate
) -> SlimQuestion | None:
    """Return the question for a task's lines; None without lines.

    The lines stand in the order of the rules, and the last ones are left out where the prompt's budget is short.
    """
    relevant = relevant_to(instruction, skill)
    likes, styles = (_named(each) for each in phrases(skill, population, relevant, gate=gate))
    styles.pop(NONE, None)
    request, most = as_data(instruction, _REQUEST_CHARS), max_likes(budget)
    while likes or styles:
        prompt = template(PROMPT).substitute(
            most=most, request=request or "(none)", likes=_block(likes), style=_block(styles)
        )
        if count_tokens(prompt) <= max_tokens - CORRECTION_TOKENS:
            return SlimQuestion(prompt, _schema(likes, styles, most), likes, styles)
        max(likes, styles, key=len).popitem()
    return None


def _schema(likes: Collection[str], styles: Collection[str], most: int) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    if likes:
        entry = {"type": "string", "enum": list(likes)}
        properties["likes"] = {"type": "array", "items": entry, "minItems": 1, "maxItems": most}
    if styles:
        properties["style"] = {"type": "string", "enum": [*styles, NONE]}
    return strict_object(properties)


def _named(lines: Mapping[str, Attribute]) -> dict[str, tuple[str, Attribute]]:
    # Keys are the words themselves, not numbers: small models follow words best.
    named: dict[str, tuple[str, Attribute]] = {}
    for phrase, line in lines.items():
        if words := as_data(phrase, _PHRASE_CHARS):
            named.setdefault(words, (phrase, line))
    return named


def _block(named: Mapping[str, tuple[str, Attribute]]) -> str:
    lines = (f"- {words} | {as_data(a.dimension, 40)} | {a.tier}" for words, (_, a) in named.items())
    return "\n".join(lines) or "(nothing)"
