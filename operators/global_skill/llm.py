"""The global skill with a meta-LLM's judgement and words (paper 2.3 (i)): one call per domain and build.

Numbers stay the statistics': the model picks among the enumerated lines, and writes texts of bounded length. It never
sees a user, only what at least a floor of them share.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from operators.asks import CORRECTION_TOKENS, Asker
from operators.global_skill.statistics import DEFAULT_LIMITS
from operators.global_skill.words import MAX_GUIDANCE_CHARS
from operators.prompts import as_data, template
from operators.vouch import DEFAULT, Vouching
from schemas import Attribute, GlobalSkill, Persona, ReasonedBy, Tier

PROMPT = "global-skill.v1"
MIN_PROMPT_TOKENS = 1_300
"""The prompt's own words, a corrective retry's, four personas, the draft and one line at their longest."""
MAX_STRATEGY_CHARS = 300
MAX_LINES = DEFAULT_LIMITS.lines
_LINE_CHARS, _NAME_CHARS, _DRAFT_CHARS = 72, 40, 1_200
_SHORT_CHARS = 40


class LlmGlobalSkill(Asker):
    """Lets a model choose and word a domain's template.

    Args:
        client: the model's client; its creator closes it.
        count_tokens: counts a text's tokens.
        max_prompt_tokens: limit of every prompt, a corrective retry included.

    Raises:
        ValueError: `max_prompt_tokens` leaves no tokens for the input.
    """

    least_prompt_tokens = MIN_PROMPT_TOKENS

    async def write(self, skill: GlobalSkill) -> GlobalSkill:
        """The same skill with the model's template, strategies and guidance. Without any line: as it is, and no call.

        Raises:
            ReasonerUnavailable: there is no usable answer.
        """
        asked = question(
            skill,
            count_tokens=self._count_tokens,
            max_tokens=self._max_prompt_tokens,
            vouching=self._vouching,
        )
        if asked is None:
            return skill
        reply = await self._ask(PROMPT, asked)
        return written(asked, skill, reply.answer, reply.reasoned_by(PROMPT))


@dataclass(frozen=True)
class Question:
    """A question to the model, with the meaning of its answer's words.

    Attributes:
        prompt: the text.
        schema: the JSON schema that the answer must fit.
        lines: the template's lines, by the words that the model copies.
        personas: by the property that carries the strategy.
    """

    prompt: str
    schema: Mapping[str, Any]
    lines: Mapping[str, Attribute]
    personas: Mapping[str, Persona]

    @property
    def longest_answer(self) -> str:
        """The longest possible answer, for the reply's token limit."""
        answer: dict[str, Any] = {"medium": list(self.lines), "low": list(self.lines)}
        answer |= dict.fromkeys(self.personas, "many words " * (MAX_STRATEGY_CHARS // 11))
        answer |= {"guidance": "many words " * (MAX_GUIDANCE_CHARS // 11)}
        return orjson.dumps(answer).decode()


def question(
    skill: GlobalSkill, *, count_tokens: Callable[[str], int], max_tokens: int, vouching: Vouching = DEFAULT
) -> Question | None:
    """The question that this skill puts, or None if it has no line to judge.

    Args:
        skill: the statistical one, best with more lines than are to be kept (`GlobalLimits.offered`).
        count_tokens: how long a text is.
        max_tokens: the prompt's budget, a corrective retry's addition included.
        vouching: which lines may be shown; others are left out.
    """
    lines: dict[str, Attribute] = {}
    for attribute in vouching.let_out(skill.attributes):
        lines.setdefault(as_data(f"{attribute.dimension}: {attribute.value}", _LINE_CHARS), attribute)
    personas = {f"persona_{number}": persona for number, persona in enumerate(skill.personas, 1)}
    chars = _DRAFT_CHARS
    while lines and count_tokens(_prompt(skill, lines, personas, chars)) > max_tokens - CORRECTION_TOKENS:
        # First the last lines, which the fewest share; then the drafts, which the model has to write itself anyway.
        if len(lines) > 1:
            lines.popitem()
        elif chars > _SHORT_CHARS:
            chars //= 2
        else:
            break
    if not lines:
        return None
    return Question(_prompt(skill, lines, personas, chars), _schema(lines, personas), lines, personas)


def written(asked: Question, skill: GlobalSkill, answer: Mapping[str, Any], by: ReasonedBy) -> GlobalSkill:
    """The skill with what an answer that fits the question's schema says.

    A line in both lists is medium, and no more than twelve are kept. A model that keeps no line at all, or leaves a
    text empty, has said nothing: what the statistics say stays.
    """
    tiers = dict.fromkeys(answer["low"], Tier.LOW) | dict.fromkeys(answer["medium"], Tier.MEDIUM)
    kept = [line.model_copy(update={"tier": tiers[words]}) for words, line in asked.lines.items() if words in tiers]
    kept.sort(key=lambda line: (-line.tier, -skill.shares.get(line.attribute_id, 0.0), line.attribute_id))
    return skill.model_copy(
        update={
            "attributes": (tuple(kept) or skill.attributes)[:MAX_LINES],
            "personas": tuple(
                persona.model_copy(update={"strategy": as_data(answer[key], MAX_STRATEGY_CHARS) or persona.strategy})
                for key, persona in asked.personas.items()
            ),
            "guidance": as_data(answer["guidance"], MAX_GUIDANCE_CHARS) or skill.guidance,
            "reasoned_by": by,
        }
    )


def _prompt(skill: GlobalSkill, lines: Mapping[str, Attribute], personas: Mapping[str, Persona], chars: int) -> str:
    return template(PROMPT).substitute(
        catalogue=skill.domain,
        users=f"{skill.users:,}",
        shared="\n".join(f"- {words} | {skill.shares.get(a.attribute_id, 0.0):.0%}" for words, a in lines.items()),
        personas="\n".join(
            f"- {key} | {as_data(p.name, _NAME_CHARS)}, {p.share:.0%} | {as_data(p.strategy, min(chars, 300))}"
            for key, p in personas.items()
        )
        or "(none)",
        draft=as_data(skill.guidance, chars) or "(none)",
    )


def _schema(lines: Iterable[str], personas: Iterable[str]) -> dict[str, Any]:
    words = list(lines)
    choice = {"type": "array", "items": {"$ref": "#/$defs/line"}, "maxItems": len(words)}
    properties: dict[str, Any] = {"medium": choice, "low": choice}
    properties |= {key: {"type": "string", "maxLength": MAX_STRATEGY_CHARS} for key in personas}
    properties["guidance"] = {"type": "string", "maxLength": MAX_GUIDANCE_CHARS}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        "$defs": {"line": {"type": "string", "enum": words}},
    }
