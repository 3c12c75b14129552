"""Listwise ranking (paper 2.4, C.3): the model names all candidates, best first. Works with any endpoint."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from operators.asks import MAX_PROMPT_TOKENS, Asker, Asks, reply_tokens, strict_object
from operators.evolve.proposal import ReasonerUnavailable
from operators.rank.question import keys, rendered
from operators.rank.ranking import LlmRanking, Task, by_score, mean, places, presentations, repair, together
from schemas import ItemFacts, ReasonedBy

PROMPT = "rank-listwise.v1"


class ListwiseRanker(Asker):
    """Lets a model write a permutation, and believes it only where it is not just a copy of the list.

    Small models hand back the presentation as it stood. Such an answer says nothing, so that another order is asked,
    and only answers that differ from their presentation count; their mean is of places (Borda). If all are copies they
    all count: where the candidates stood in both an order and its reverse, that leaves ties, which the seed breaks.

    Args:
        client: the model's client; its creator closes it.
        count_tokens: counts a text's tokens.
        orders: presentation orders that are asked in any case; one more if their answers all were copies.

    Raises:
        ValueError: there are no orders.
    """

    def __init__(self, client: Asks, *, orders: int = 1, **more: Any) -> None:
        if orders < 1:
            raise ValueError("orders must be at least 1")
        super().__init__(client, **more)
        self._orders = orders

    async def rank(self, task: Task) -> LlmRanking:
        """The candidates in a strict order. One candidate or none costs no call.

        If the endpoint fails after it has answered for one order, those that are there decide.

        Raises:
            ReasonerUnavailable: there is no usable answer.
        """
        if len(task.items) <= 1:
            return LlmRanking(tuple(item.item_id for item in task.items), ReasonedBy(reasoner="llm"))
        copies: list[Mapping[str, float]] = []
        own: list[Mapping[str, float]] = []
        records: list[ReasonedBy] = []
        repaired = 0
        for number, shown in enumerate(presentations(task.items, task.seed, self._orders + 1)):
            if number >= self._orders and own:
                break
            try:
                said, record = await self._ask_one(task, shown)
            except ReasonerUnavailable:
                if not records:
                    raise
                break
            whole = repair(said, shown)
            repaired += whole.unknown + whole.repeated + whole.missing
            copied = list(whole.order) == [item.item_id for item in shown]
            (copies if copied else own).append(places(whole.order))
            records.append(record)
        counted = own or copies
        found = mean(counted)
        order = by_score(found, task.seed)
        return LlmRanking(order, together(records), repaired, found, len(counted))

    async def _ask_one(self, task: Task, shown: Sequence[ItemFacts]) -> tuple[list[str], ReasonedBy]:
        by_key: dict[str, str] = dict(zip(keys(len(shown)), (item.item_id for item in shown), strict=True))
        reply = await self._client.ask(
            rendered(
                PROMPT,
                task,
                shown,
                count_tokens=self._count_tokens,
                max_tokens=MAX_PROMPT_TOKENS,
                vouching=self._vouching,
            ),
            _schema(list(by_key)),
            name=PROMPT.replace(".", "_"),
            # Twice as much as we count: another tokenizer, and white space that some endpoints indent with.
            max_tokens=reply_tokens(self._count_tokens, orjson.dumps({"ranking": list(by_key)}).decode()),
        )
        return [by_key[key] for key in reply.answer["ranking"]], reply.reasoned_by(PROMPT)


def _schema(named: list[str]) -> dict[str, Any]:
    entry = {"type": "string", "enum": named}
    exactly = {"minItems": len(named), "maxItems": len(named)}
    return strict_object({"ranking": {"type": "array", "items": entry, **exactly}})
