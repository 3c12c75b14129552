"""Ranking by the first token (after paper 2.4): "which one is best?", and the order is read off the probabilities.

One token per question instead of a permutation's hundreds, nothing to parse, and a strict order without asking for one.
It needs an endpoint that tells log-probabilities, and shows 20 alternatives of a token at most: with more candidates
the others' letters could not be seen, and windows would compare what was never seen side by side, so that more than 20
candidates are for the listwise form.
"""

from collections.abc import Callable, Mapping

from operators.asks import MAX_PROMPT_TOKENS, Chooses
from operators.evolve.proposal import ReasonerUnavailable
from operators.rank.question import LETTERS, keys, rendered
from operators.rank.ranking import LlmRanking, Task, by_score, mean, presentations, together
from operators.vouch import Vouching
from schemas import ReasonedBy

PROMPT = "rank-first-token.v1"
MAX_CANDIDATES = len(LETTERS)


class FirstTokenRanker:
    """Ranks by the probabilities of the answer's first token, averaged over presentation orders.

    The mean is of logarithms. What a place in the list is worth to a model multiplies a candidate's probability, and
    an order and its reverse take that factor out of a product; in a mean of probabilities the one order in which a
    candidate happened to stand well would outvote the other.

    Raises:
        ValueError: there are no orders.
    """

    def __init__(
        self, client: Chooses, *, count_tokens: Callable[[str], int], orders: int = 2, vouching: Vouching
    ) -> None:
        if orders < 1:
            raise ValueError("orders must be at least 1")
        self._client = client
        self._count_tokens = count_tokens
        self._orders = orders
        self._vouching = vouching

    async def rank(self, task: Task) -> LlmRanking:
        """The candidates in a strict order. One candidate or none costs no call.

        If the endpoint fails after it has answered for one order, those that are there decide.

        Raises:
            ReasonerUnavailable: there is no usable answer; its outcome is `no-logprobs` where another form can help.
            ValueError: there are more than 20 candidates.
        """
        if len(task.items) > MAX_CANDIDATES:
            raise ValueError(f"at most {MAX_CANDIDATES} candidates, not {len(task.items)}")
        if len(task.items) <= 1:
            return LlmRanking(tuple(item.item_id for item in task.items), ReasonedBy(reasoner="llm"))
        scores: list[Mapping[str, float]] = []
        records: list[ReasonedBy] = []
        for shown in presentations(task.items, task.seed, self._orders):
            text = rendered(
                PROMPT,
                task,
                shown,
                count_tokens=self._count_tokens,
                max_tokens=MAX_PROMPT_TOKENS,
                vouching=self._vouching,
            )
            letters = keys(len(shown))
            try:
                token = await self._client.first_token(text, letters, name=PROMPT.replace(".", "_"))
            except ReasonerUnavailable:
                if not scores:
                    raise
                break
            scores.append({i.item_id: token.logprobs[key] for i, key in zip(shown, letters, strict=True)})
            records.append(token.reasoned_by(PROMPT))
        found = mean(scores)
        return LlmRanking(by_score(found, task.seed), together(records), scores=found, presentations=len(scores))
