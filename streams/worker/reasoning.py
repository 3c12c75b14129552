"""Which reasoner answers, and what happens when it cannot: fall back, wait, or give the contrast up."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from operators.evolve import Proposal, Reasoner, ReasonerUnavailable, RulesReasoner
from schemas import Contrast, PolicySkill, ReasonedBy
from streams import metrics
from streams.settings import OnLlmFailure, ReasonerName, Settings

logger = logging.getLogger("sager.reasoning")

FIRST_WAIT_SECONDS = 1.0
LAST_WAIT_SECONDS = 60.0


class GivenUp(Exception):
    """No reasoner answers for this contrast; it belongs into the dead letters."""


class Reasoning:
    """The configured reasoner with its fallback.

    Args:
        reasoner: who is asked first.
        on_failure: what to do when they are unavailable.
        touch: called while waiting, so that waiting is not taken for being stuck.
    """

    def __init__(self, reasoner: Reasoner, on_failure: OnLlmFailure, touch: Callable[[], None] = lambda: None) -> None:
        self.reasoner = reasoner
        self.on_failure = on_failure
        self.touch = touch
        self._rules = RulesReasoner()

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """A proposal, from the configured reasoner or from the rules in its stead.

        Raises:
            GivenUp: by configuration, a contrast without an answer is dead-lettered.
        """
        delay = FIRST_WAIT_SECONDS
        while True:
            try:
                return await self.reasoner.reason(contrast, skill)
            except ReasonerUnavailable as error:
                metrics.REASONER_FAILURES.labels(self.on_failure.value).inc()
                if self.on_failure is OnLlmFailure.DEAD_LETTER:
                    raise GivenUp(str(error)) from error
                if self.on_failure is OnLlmFailure.RULES:
                    proposal = self._rules.propose(contrast, skill)
                    told = ReasonedBy(reasoner=self._rules.name, fallback=str(error)[:200])
                    return replace(proposal, reasoned_by=told)
                logger.warning("reasoner unavailable, again in %.0f s: %s", delay, error.outcome)
            self.touch()
            await asyncio.sleep(delay)
            delay = min(2 * delay, LAST_WAIT_SECONDS)


def reasoner_of(settings: Settings) -> Reasoner:
    """The reasoner that the settings name.

    Raises:
        MissingExtra: it needs an optional part that is not installed.
    """
    if settings.reasoner is ReasonerName.RULES:
        return RulesReasoner()
    # The openai client is an optional extra, and slow to import.
    from streams.worker.llm import llm_reasoner  # noqa: PLC0415

    return llm_reasoner(settings)
