"""The ranker with a model: the form that is wanted, or the one that the endpoint and the number of candidates allow."""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum

from operators.asks import NO_LOGPROBS, Client
from operators.evolve.proposal import ReasonerUnavailable
from operators.rank.first_token import MAX_CANDIDATES, FirstTokenRanker
from operators.rank.listwise import ListwiseRanker
from operators.rank.ranking import LlmRanking, Task
from operators.vouch import Vouching

GIVE_UP_AFTER = 3
"""Once may be an accident of one reply; an endpoint that tells no probabilities never does."""


class Form(StrEnum):
    """How a model is asked for an order."""

    FIRST_TOKEN = "first-token"  # noqa: S105 - no password
    LISTWISE = "listwise"


class LlmRanker:
    """Ranks by the first token where that is possible, and else by a listwise answer.

    Which it was is in the ranking's `reasoned_by`: `prompt`, and `fallback` with the reason. An endpoint that has left
    out the probabilities three times in a row is not asked for them again by this ranker.

    Args:
        client: the model's client; its creator closes it.
        count_tokens: counts a text's tokens.
        form: the form that is wanted.
        orders: presentation orders that the wanted form averages; by default 2 for the first token, whose calls are
            cheap, and 1 else.
        vouching: which values a prompt may show.

    Raises:
        ValueError: there are no orders.
    """

    name = "llm"

    def __init__(
        self,
        client: Client,
        *,
        count_tokens: Callable[[str], int],
        form: Form = Form.FIRST_TOKEN,
        orders: int | None = None,
        vouching: Vouching,
    ) -> None:
        first = orders if orders is not None and form is Form.FIRST_TOKEN else 2
        listed = orders if orders is not None and form is Form.LISTWISE else 1
        self._first_token = FirstTokenRanker(client, orders=first, count_tokens=count_tokens, vouching=vouching)
        self._listwise = ListwiseRanker(client, orders=listed, count_tokens=count_tokens, vouching=vouching)
        self._form = form
        self._without = 0

    async def rank(self, task: Task) -> LlmRanking:
        """The candidates in a strict order. One candidate or none costs no call.

        Raises:
            ReasonerUnavailable: there is no usable answer.
        """
        if self._form is Form.LISTWISE:
            return await self._listwise.rank(task)
        if len(task.items) > MAX_CANDIDATES:
            return await self._instead(task, f"more than {MAX_CANDIDATES} candidates")
        if self._without < GIVE_UP_AFTER:
            try:
                ranking = await self._first_token.rank(task)
            except ReasonerUnavailable as failed:
                if failed.outcome != NO_LOGPROBS:
                    raise
                self._without += 1
            else:
                self._without = 0
                return ranking
        return await self._instead(task, NO_LOGPROBS)

    async def _instead(self, task: Task, why: str) -> LlmRanking:
        ranking = await self._listwise.rank(task)
        return replace(ranking, reasoned_by=ranking.reasoned_by.model_copy(update={"fallback": why}))
