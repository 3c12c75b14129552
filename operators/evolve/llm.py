"""The reasoner with a model: one call per contrast, and it can name only what code offers it (paper 2.5, C.1)."""

from collections.abc import Callable, Mapping
from typing import Any

from operators.attributes import fact_id
from operators.evolve.prompts import as_data
from operators.evolve.prompts.question import MAX_ANALYSIS_CHARS, NONE, PROMPT, Question, question
from operators.evolve.proposal import Proposal
from operators.llm import LlmClient
from schemas import Contrast, Fact, PolicySkill, ReasonedBy

MIN_PROMPT_TOKENS = 1_100
"""The prompt's own words, a corrective retry's, one fact and one line at their longest."""


class LlmReasoner:
    """Lets a model judge what a choice says about a skill.

    Args:
        client: how to reach the model; whoever made it closes it.
        count_tokens: how many tokens a text has.
        max_prompt_tokens: no prompt is longer, whatever the input, a corrective retry included.
        max_attributes: most lines of the skill that one call judges.

    Raises:
        ValueError: `max_prompt_tokens` leaves no room for the input.
    """

    name = "llm"

    def __init__(
        self,
        client: LlmClient,
        *,
        count_tokens: Callable[[str], int],
        max_prompt_tokens: int = 1_500,
        max_attributes: int = 24,
    ) -> None:
        if max_prompt_tokens < MIN_PROMPT_TOKENS:
            raise ValueError(f"max_prompt_tokens must be at least {MIN_PROMPT_TOKENS}, not {max_prompt_tokens}")
        self._client = client
        self._count_tokens = count_tokens
        self._max_prompt_tokens = max_prompt_tokens
        self._max_attributes = max_attributes

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """What this choice says about this skill. Without anything to judge, an empty proposal and no call.

        Raises:
            ReasonerUnavailable: there is no usable answer; nothing has been changed.
        """
        asked = question(
            contrast,
            skill,
            count_tokens=self._count_tokens,
            max_tokens=self._max_prompt_tokens,
            max_attributes=self._max_attributes,
        )
        if asked is None:
            return Proposal(reasoned_by=ReasonedBy(reasoner=self.name))
        reply = await self._client.ask(
            asked.prompt,
            asked.schema,
            name=PROMPT.replace(".", "_"),
            # Twice as much as we count: another tokenizer, and white space that some endpoints indent with.
            max_tokens=64 + 2 * self._count_tokens(asked.longest_answer),
        )
        return proposal(
            asked,
            reply.answer,
            ReasonedBy(
                reasoner=self.name,
                model=reply.model,
                prompt_hash=reply.prompt_hash,
                prompt_tokens=reply.prompt_tokens,
                completion_tokens=reply.completion_tokens,
                calls=reply.calls,
                latency_ms=reply.latency_ms,
            ),
        )


def proposal(asked: Question, answer: Mapping[str, Any], reasoned_by: ReasonedBy) -> Proposal:
    """What an answer that fits the question's schema proposes.

    A verdict without a fact counts as `unrelated`. Weakening is conservative (paper 2.5): a fact contradicts only lines
    of its own dimension, and none that another fact of the chosen item states; small models do both.
    """
    stated = {fact_id(fact) for fact in asked.facts.values()}
    reinforced: list[str] = []
    weakened: list[str] = []
    reasons: dict[str, str] = {}
    for key, attribute in asked.attributes.items():
        quoted, verdict = answer[key]["fact"], answer[key]["verdict"]
        if quoted == NONE or verdict == "unrelated":
            continue
        if verdict == "supports":
            reinforced.append(attribute.attribute_id)
            reasons[attribute.attribute_id] = f"the chosen item has {quoted}"
        elif asked.facts[quoted].dimension == attribute.dimension and attribute.attribute_id not in stated:
            weakened.append(attribute.attribute_id)
            reasons[attribute.attribute_id] = f"the chosen item has {quoted} instead"
    discovered: dict[str, Fact] = {words: asked.facts[words] for words in answer.get("discovered", ())}
    return Proposal(
        reinforced=tuple(reinforced),
        discovered=tuple(discovered.values()),
        weakened=tuple(weakened),
        reasons=reasons,
        analysis=as_data(answer["analysis"], MAX_ANALYSIS_CHARS),
        reasoned_by=reasoned_by,
    )
