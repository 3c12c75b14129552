"""Understands chunks with a model, whose replies are kept: an interrupted run goes on, a repeated one asks nothing."""

from collections.abc import Sequence
from enum import StrEnum

from evaluation.conversations.choices import by_words
from evaluation.conversations.judge import Judge
from evaluation.conversations.play import by_rules, no_vocabulary
from evaluation.replies import Desk
from operators.evolve import ReasonerUnavailable
from operators.language.finding import Heard
from operators.listen.both import both
from operators.listen.llm import LlmListening
from operators.tokens import count_tokens
from schemas.cards import Card, Turn
from streams.language import RULES
from streams.vouching import DEFAULT as VOUCHING


class How(StrEnum):
    """Who understands."""

    RULES = "rules"
    MODEL = "model"
    BOTH = "both"
    """A model, and rules whose findings count first; as the worker does with `SAGER_REASONER=llm`."""


class Asked:
    """Understands and chooses with a model; by rules where its answer is of no use, which is counted.

    Args:
        desk: the model's client, which keeps replies.
        how: `MODEL` or `BOTH`.
    """

    def __init__(self, desk: Desk, how: How) -> None:
        self._how = how
        self._listening = LlmListening(desk, count_tokens=count_tokens, extractor=RULES, vouching=VOUCHING)
        self._judge = Judge(desk, count_tokens=count_tokens, vouching=VOUCHING)
        self.unusable = 0

    async def listen(self, turns: Sequence[Turn], card: Card | None) -> Heard:
        """What a chunk says of the person."""
        rules = await by_rules(turns, card)
        try:
            model = await self._listening.listen(turns, card, no_vocabulary)
        except ReasonerUnavailable:
            self.unusable += 1
            return rules
        return model if self._how is How.MODEL else both(rules, model)

    async def choose(self, card: Card | None, query: str, answers: Sequence[str]) -> int:
        """Which answer fits the card."""
        try:
            return await self._judge.choose(card, query, answers)
        except ReasonerUnavailable:
            self.unusable += 1
            return await by_words(card, query, answers)
