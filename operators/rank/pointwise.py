"""Pointwise ranking: a grade per candidate, in one call.

Not for use but for comparison: grades tie, at the top above all (paper 2.4, Score-Tie Bottleneck), which is what the
other forms are there to avoid. `LlmRanking.tied_at_top` says how many did.
"""

from typing import Any

import orjson

from operators.asks import Asker, reply_tokens
from operators.rank.question import MIN_PROMPT_TOKENS, keys, rendered
from operators.rank.ranking import LlmRanking, by_score, presentations
from operators.rank.task import Task
from schemas import ReasonedBy

PROMPT = "rank-pointwise.v1"
GRADES = (0, 1, 2, 3, 4)


class PointwiseRanker(Asker):
    """Lets a model grade each candidate; equal grades are put into an order by the seed.

    Args:
        client: the model's client; its creator closes it.
        count_tokens: counts a text's tokens.
        max_prompt_tokens: limit of every prompt, a corrective retry included.

    Raises:
        ValueError: `max_prompt_tokens` leaves no tokens for the input.
    """

    least_prompt_tokens = MIN_PROMPT_TOKENS

    async def rank(self, task: Task) -> LlmRanking:
        """The candidates by grade. One candidate or none costs no call.

        Raises:
            ReasonerUnavailable: there is no usable answer.
        """
        if len(task.items) <= 1:
            return LlmRanking(tuple(item.item_id for item in task.items), ReasonedBy(reasoner="llm"))
        [shown] = presentations(task.items, task.seed, 1)
        by_key: dict[str, str] = dict(zip(keys(len(shown)), (item.item_id for item in shown), strict=True))
        reply = await self._client.ask(
            rendered(
                PROMPT,
                task,
                shown,
                count_tokens=self._count_tokens,
                max_tokens=self._max_prompt_tokens,
                vouching=self._vouching,
            ),
            _schema(list(by_key)),
            name=PROMPT.replace(".", "_"),
            max_tokens=reply_tokens(self._count_tokens, orjson.dumps(dict.fromkeys(by_key, 0)).decode()),
        )
        grades = {item_id: float(reply.answer[key]) for key, item_id in by_key.items()}
        return LlmRanking(by_score(grades, task.seed), reply.reasoned_by(PROMPT), scores=grades, presentations=1)


def _schema(named: list[str]) -> dict[str, Any]:
    # The grade stands in it once, by reference: endpoints that put the schema into the context charge for each copy.
    return {
        "type": "object",
        "properties": {key: {"$ref": "#/$defs/grade"} for key in named},
        "required": named,
        "additionalProperties": False,
        "$defs": {"grade": {"type": "integer", "enum": list(GRADES)}},
    }
