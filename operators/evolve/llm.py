"""The reasoner with a model: one call per contrast, and it can name only what code offers it (paper 2.5, C.1)."""

from collections.abc import Mapping
from typing import Any

from operators.asks import MAX_PROMPT_TOKENS, Asker
from operators.attributes import fact_id
from operators.evolve.draft import MAX_ANALYSIS_CHARS, words
from operators.evolve.proposal import Proposal
from operators.evolve.question import MAX_JUDGED, PROMPT, Question, question
from operators.prompts import as_data
from schemas import Contrast, Fact, Judgement, PolicySkill, ReasonedBy, Verdict


class LlmReasoner(Asker):
    """Has a model judge what a choice says about a skill; habits are counted by code."""

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """What this choice says about this skill. Without anything to judge there is no call.

        Raises:
            ReasonerUnavailable: there is no usable answer; nothing has changed.
        """
        asked = question(
            contrast,
            skill,
            count_tokens=self._count_tokens,
            max_tokens=MAX_PROMPT_TOKENS,
            max_attributes=MAX_JUDGED,
            vouching=self._vouching,
        )
        if asked is None:
            return Proposal(reasoned_by=ReasonedBy(reasoner=self.name))
        reply = await self._ask(PROMPT, asked)
        return proposal(asked, reply.answer, reply.reasoned_by(PROMPT))


def proposal(asked: Question, answer: Mapping[str, Any], reasoned_by: ReasonedBy) -> Proposal:
    """What an answer that fits the question's schema proposes.

    A verdict without a fact counts as `unrelated`. Weakening is conservative (paper 2.5): a fact contradicts only lines
    of its own dimension, and none that another fact of the chosen item states; small models do both. What the model
    said of each line is kept as it said it, with the fact itself where it was shown a number.
    """
    stated = {fact_id(fact) for fact in asked.facts.values()}
    reinforced: list[str] = []
    weakened: list[str] = []
    reasons: dict[str, str] = {}
    judged: list[Judgement] = []
    for key, attribute in asked.attributes.items():
        quoted, verdict = answer[key]["fact"], Verdict(answer[key]["verdict"])
        fact = asked.facts.get(quoted)
        judged.append(Judgement(attribute_id=attribute.attribute_id, verdict=verdict, quoted=fact))
        if fact is None or verdict is Verdict.UNRELATED:
            continue
        if verdict is Verdict.SUPPORTS:
            reinforced.append(attribute.attribute_id)
            reasons[attribute.attribute_id] = f"the chosen item has {words(fact.dimension, fact.value)}"
        elif fact.dimension == attribute.dimension and attribute.attribute_id not in stated:
            weakened.append(attribute.attribute_id)
            reasons[attribute.attribute_id] = f"the chosen item has {words(fact.dimension, fact.value)} instead"
    discovered: dict[str, Fact] = {quoted: asked.facts[quoted] for quoted in answer.get("discovered", ())}
    return Proposal(
        reinforced=tuple(reinforced),
        discovered=tuple(discovered.values()),
        weakened=tuple(weakened),
        reasons=reasons,
        analysis=as_data(answer["analysis"], MAX_ANALYSIS_CHARS),
        judged=tuple(judged),
        reasoned_by=reasoned_by,
    )
