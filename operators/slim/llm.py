"""LLM_Ext (paper 2.3, eq. 3, C.2): a model chooses what the slim skill says, among the skill's own lines."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from operators.asks import CORRECTION_TOKENS, MAX_PROMPT_TOKENS, Asker, strict_object
from operators.prompts import as_data, template
from operators.slim.relevance import relevant_to
from operators.slim.rules import MAX_LIKE_CHARS, Slimmed, composed, max_likes, phrases
from operators.vouch import Vouching
from schemas import Attribute, PolicySkill, ReasonedBy, SlimSkill

PROMPT = "slim.v1"
NONE = "none"
MIN_BUDGET, MAX_BUDGET = 10, 200

_REQUEST_CHARS, _SHORT_REQUEST_CHARS = 300, 100
_PHRASE_CHARS = MAX_LIKE_CHARS + len("prefers ")


@dataclass(frozen=True)
class Extracted:
    """A slim skill with the lines that it says, and how it came about."""

    slimmed: Slimmed
    reasoned_by: ReasonedBy

    @property
    def slim(self) -> SlimSkill:
        """The slim skill as an app gets it."""
        return self.slimmed.record


class LlmExtract(Asker):
    """Has a model choose likes and style of a slim skill, among the skill's own lines."""

    async def extract(
        self, skill: PolicySkill, instruction: str = "", budget: int = 30, population: Mapping[str, float] | None = None
    ) -> Extracted:
        """The slim skill of this skill for this task. A skill without a sure line has an empty one, without a call.

        Raises:
            ReasonerUnavailable: there is no usable answer.
            ValueError: the budget is out of its bounds.
        """
        if not MIN_BUDGET <= budget <= MAX_BUDGET:
            raise ValueError(f"budget must be {MIN_BUDGET} to {MAX_BUDGET} tokens, not {budget}")
        asked = question(
            skill,
            instruction,
            budget,
            relevant_to(instruction, skill),
            population,
            count_tokens=self._count_tokens,
            max_tokens=MAX_PROMPT_TOKENS,
            vouching=self._vouching,
        )
        if asked is None:
            return Extracted(
                composed(skill, {}, {}, self._count_tokens, budget, self._vouching), ReasonedBy(reasoner=self.name)
            )
        reply = await self._ask(PROMPT, asked)
        likes = dict(asked.likes[words] for words in reply.answer.get("likes", ()))
        style = asked.styles.get(reply.answer.get("style", NONE))
        styles = {} if style is None else dict((style,))
        return Extracted(
            composed(skill, likes, styles, self._count_tokens, budget, self._vouching), reply.reasoned_by(PROMPT)
        )


@dataclass(frozen=True)
class Question:
    """A question to the model, with the meaning of its answer's words.

    Attributes:
        prompt: the text.
        likes: what the slim skill says, with its line, by the words that the model chooses by.
        styles: the same for style phrases.
        most: likes at most.
    """

    prompt: str
    likes: Mapping[str, tuple[str, Attribute]]
    styles: Mapping[str, tuple[str, Attribute]]
    most: int

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema that the answer must fit; it names the lines, so that nothing else can be said."""
        properties: dict[str, Any] = {}
        if self.likes:
            entry = {"type": "string", "enum": list(self.likes)}
            properties["likes"] = {"type": "array", "items": entry, "minItems": 1, "maxItems": self.most}
        if self.styles:
            properties["style"] = {"type": "string", "enum": [*self.styles, NONE]}
        return strict_object(properties)

    @property
    def longest_answer(self) -> str:
        """The longest possible answer, for the reply's token limit."""
        longest = sorted(self.likes, key=len)[-self.most :]
        return orjson.dumps({"likes": longest, "style": max(self.styles, key=len, default=NONE)}).decode()


def question(
    skill: PolicySkill,
    instruction: str,
    budget: int,
    relevant: Collection[str] = (),
    population: Mapping[str, float] | None = None,
    *,
    count_tokens: Callable[[str], int],
    max_tokens: int,
    vouching: Vouching,
) -> Question | None:
    """The question that this task puts to this skill, or None if there is nothing to choose among.

    The lines stand in the order in which they would be taken without a model, and the last ones are left out where the
    prompt's budget is short.
    """
    likes, styles = (_named(each) for each in phrases(skill, population, relevant, vouching=vouching))
    styles.pop(NONE, None)
    request, most = as_data(instruction, _REQUEST_CHARS), max_likes(budget)
    while likes or styles:
        prompt = template(PROMPT).substitute(
            most=most, request=request or "(none)", likes=_block(likes), style=_block(styles)
        )
        if count_tokens(prompt) <= max_tokens - CORRECTION_TOKENS:
            return Question(prompt, likes, styles, most)
        if len(request) > _SHORT_REQUEST_CHARS:
            request = as_data(request, _SHORT_REQUEST_CHARS)
        else:
            max(likes, styles, key=len).popitem()
    return None


def _named(said: Mapping[str, Attribute]) -> dict[str, tuple[str, Attribute]]:
    """The phrases by the words that stand for them in prompt and schema: their own, which small models follow best."""
    named: dict[str, tuple[str, Attribute]] = {}
    for phrase, line in said.items():
        if words := as_data(phrase, _PHRASE_CHARS):
            named.setdefault(words, (phrase, line))
    return named


def _block(named: Mapping[str, tuple[str, Attribute]]) -> str:
    lines = (f"- {words} | {as_data(a.dimension, 40)} | {a.tier}" for words, (_, a) in named.items())
    return "\n".join(lines) or "(nothing)"
