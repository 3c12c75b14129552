"""Which reasoner answers, and what happens when it cannot: fall back, wait, or give the contrast up."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from operators.evolve import (
    Proposal,
    Reasoner,
    ReasonerUnavailable,
    Replacement,
    Replacer,
    RulesReasoner,
    RulesReplacer,
)
from schemas import Contrast, PolicySkill, ReasonedBy
from streams import metrics
from streams.settings import EvolveMode, OnLlmFailure, ReasonerName, Settings

logger = logging.getLogger("sager.reasoning")

FIRST_WAIT_SECONDS = 1.0
LAST_WAIT_SECONDS = 60.0

_Answer = TypeVar("_Answer")


class GivenUp(Exception):
    """No reasoner answers for this contrast; it belongs into the dead letters."""


class Reasoning:
    """The configured reasoner with its fallback.

    Args:
        reasoner: who is asked first.
        on_failure: what to do when they are unavailable.
        touch: called while waiting, so that waiting is not taken for being stuck.
        replacer: who writes skills anew; None where skills evolve by diffs.
    """

    def __init__(
        self,
        reasoner: Reasoner,
        on_failure: OnLlmFailure,
        touch: Callable[[], None] = lambda: None,
        replacer: Replacer | None = None,
    ) -> None:
        self.reasoner = reasoner
        self.on_failure = on_failure
        self.touch = touch
        self.replacer = replacer

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """A proposal, from the configured reasoner or from the rules in its stead.

        Raises:
            GivenUp: by configuration, a contrast without an answer is dead-lettered.
        """

        def by_rules(told: ReasonedBy) -> Proposal:
            return replace(RulesReasoner().propose(contrast, skill), reasoned_by=told)

        return await self._insist(lambda: self.reasoner.reason(contrast, skill), by_rules)

    async def rewrite(self, contrast: Contrast, skill: PolicySkill) -> Replacement:
        """A skill written anew, from the configured replacer or from the rules in its stead.

        Raises:
            GivenUp: by configuration, a contrast without an answer is dead-lettered.
        """
        rules = RulesReplacer()
        replacer = self.replacer or rules

        def by_rules(told: ReasonedBy) -> Replacement:
            return replace(rules.rewrite(contrast), reasoned_by=told)

        return await self._insist(lambda: replacer.replace(contrast, skill), by_rules)

    async def _insist(
        self, ask: Callable[[], Awaitable[_Answer]], by_rules: Callable[[ReasonedBy], _Answer]
    ) -> _Answer:
        delay = FIRST_WAIT_SECONDS
        while True:
            try:
                return await ask()
            except ReasonerUnavailable as error:
                metrics.REASONER_FAILURES.labels(self.on_failure.value).inc()
                if self.on_failure is OnLlmFailure.DEAD_LETTER:
                    raise GivenUp(str(error)) from error
                if self.on_failure is OnLlmFailure.RULES:
                    return by_rules(ReasonedBy(reasoner=RulesReasoner.name, fallback=str(error)[:200]))
                logger.warning("reasoner unavailable, again in %.0f s: %s", delay, error.outcome)
            self.touch()
            await asyncio.sleep(delay)
            delay = min(2 * delay, LAST_WAIT_SECONDS)


def reasoner_of(settings: Settings) -> Reasoner:
    """The reasoner that the settings name, behind the gate if they want one.

    Raises:
        MissingExtra: it needs an optional part that is not installed.
    """
    if settings.reasoner is ReasonerName.RULES:
        return RulesReasoner()
    # The openai client is an optional extra, and slow to import.
    from streams.worker.llm import llm_reasoner  # noqa: PLC0415

    return llm_reasoner(settings)


def replacer_of(settings: Settings) -> Replacer | None:
    """Who writes skills anew, if the settings ask for full replacement (paper, Table 5); else None.

    Raises:
        MissingExtra: it needs an optional part that is not installed.
    """
    if settings.evolve_mode is EvolveMode.INCREMENTAL:
        return None
    if settings.reasoner is ReasonerName.RULES:
        return RulesReplacer()
    from streams.worker.llm import llm_replacer  # noqa: PLC0415

    return llm_replacer(settings)
