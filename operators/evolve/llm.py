"""The reasoner with a model: one call per contrast, and it can name only what code offers it (paper 2.5, C.1)."""

from collections.abc import Mapping
from typing import Any

from operators.asks import MAX_PROMPT_TOKENS, Asker
from operators.attributes import fact_id
from operators.evolve.draft import MAX_ANALYSIS_CHARS, words
from operators.evolve.proposal import Proposal
from operators.evolve.question import PROMPT, Question, question
from operators.prompts import as_data
from schemas import Contrast, Judgement, PolicySkill, ReasonedBy, Verdict


class LlmReasoner(Asker):
    """Has a model judge what a choice says about a skill; habits are counted by code."""

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """Propose changes to the skill. Without anything to judge there is no call.

        Raises:
            ReasonerUnavailable: there is no usable answer.
        """
        asked = question(
            contrast,
            skill,
            count_tokens=self._count_tokens,
            max_tokens=MAX_PROMPT_TOKENS,
            vouching=self._vouching,
        )
        if asked is None:
            return Proposal(reasoned_by=ReasonedBy(reasoner=self.name))
        reply = await self._ask(PROMPT, asked)
        return proposal(asked, reply.answer, reply.reasoned_by(PROMPT))


def proposal(asked: Question, answer: Mapping[str, Any], reasoned_by: ReasonedBy) -> Proposal:
    """Turn an answer that fits the question's schema into a proposal.

    A verdict without a fact counts as `unrelated`. Weakening is conservative (paper 2.5): a fact contradicts only lines
    of its own dimension, and none that another fact of the chosen item states; small models do both. Every verdict is
    recorded as the model gave it.
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
    discovered = dict.fromkeys(answer.get("discovered", ()))
    return Proposal(
        reinforced=tuple(reinforced),
        discovered=tuple(asked.facts[quoted] for quoted in discovered),
        weakened=tuple(weakened),
        reasons=reasons,
        analysis=as_data(answer["analysis"], MAX_ANALYSIS_CHARS),
        judged=tuple(judged),
        reasoned_by=reasoned_by,
    )
