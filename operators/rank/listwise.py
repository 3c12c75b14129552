"""Listwise ranking (paper 2.4, C.3): a model names all candidates, best first."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from operators.evolve.proposals import ReasonerUnavailable
from operators.language.output_policy import OutputGate
from operators.llm import MAX_PROMPT_TOKENS, ModelClient, reply_tokens, strict_object
from operators.rank.question import candidate_keys, render_prompt
from operators.rank.ranking import LlmRanking, RankTask, by_mean_rank, presentations, repair, total_cost
from schemas import ItemFacts, Provenance

PROMPT = "rank-listwise.v1"


@dataclass(frozen=True)
class ListwiseRanker:
    """Asks a model for a permutation, and ignores copies of the presented order.

    Small models return the list as presented, which carries no information, so another of `orders` presentations is
    tried. If all answers are copies they all count, and the seed breaks the ties.
    """

    client: ModelClient
    orders: int
    gate: OutputGate

    async def rank(self, task: RankTask) -> LlmRanking:
        """Return the candidates in a strict order; one or none costs no call.

        Raises ReasonerUnavailable if the first call fails. After a later failure the earlier answers decide.
        """
        if len(task.items) <= 1:
            return LlmRanking(tuple(item.item_id for item in task.items), Provenance(reasoner="llm"))
        copies: list[tuple[str, ...]] = []
        own: list[tuple[str, ...]] = []
        records: list[Provenance] = []
        repaired = 0
        for number, shown in enumerate(presentations(task.items, task.seed, self.orders + 1)):
            if number >= self.orders and own:
                break
            try:
                answer, record = await self._ask_one(task, shown)
            except ReasonerUnavailable:
                if not records:
                    raise
                break
            order, repairs = repair(answer, shown)
            repaired += repairs
            copied = order == tuple(item.item_id for item in shown)
            (copies if copied else own).append(order)
            records.append(record)
        return LlmRanking(by_mean_rank(own or copies, task.seed), total_cost(records), repaired)

    async def _ask_one(self, task: RankTask, shown: Sequence[ItemFacts]) -> tuple[list[str], Provenance]:
        by_key: dict[str, str] = dict(zip(candidate_keys(len(shown)), (item.item_id for item in shown), strict=True))
        named = list(by_key)
        entry = {"type": "array", "items": {"type": "string", "enum": named}}
        reply = await self.client.ask(
            render_prompt(PROMPT, task, shown, max_tokens=MAX_PROMPT_TOKENS, gate=self.gate),
            strict_object({"ranking": {**entry, "minItems": len(named), "maxItems": len(named)}}),
            name=PROMPT.replace(".", "_"),
            max_tokens=reply_tokens(orjson.dumps({"ranking": named}).decode()),
        )
        return [by_key[key] for key in reply.answer["ranking"]], reply.reasoned_by(PROMPT)
