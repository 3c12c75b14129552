"""Calls the configured reasoner; without an answer uses rules, waits, or fails."""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from faust.streams import current_event

from operators.evolve.proposals import Proposal, Reasoner, ReasonerUnavailable, without_model
from operators.language.correction_llm import LlmCorrectionReader
from operators.language.corrections import needs_model, understand
from operators.language.extraction_llm import LlmExtractor, combine
from operators.language.ports import Effect, Extraction, Interpretation
from operators.language.privacy import Privacy
from operators.options import EvolveMode
from operators.slim.llm import LlmExtract
from operators.slim.rules import Shares
from operators.slim.selection import SlimSelection
from schemas import Card, Contrast, Correction, Fact, ItemFacts, PolicySkill, Provenance, Turn
from streams import language
from streams.llm.calls import EndpointUnavailable, Outcome
from streams.policies import DEFAULT_PRIVACY
from streams.settings import OnLlmFailure
from streams.worker import metrics
from streams.worker.runtime.membership import Interrupted, PartitionRevoked

logger = logging.getLogger("sager.reasoning")

FIRST_WAIT_SECONDS, LAST_WAIT_SECONDS = 1.0, 60.0
# Interval at which a waiting event checks the endpoint and its partition.
POLL_SECONDS = 0.25
# Average interval between waiting events after an outage: 64 calls at once would fail the endpoint again.
RESUME_INTERVAL_SECONDS = 0.05

_Answer = TypeVar("_Answer")


class ReasonerFailed(Exception):
    """No reasoner has an answer, so the contrast or chunk is dead-lettered."""


class Reasoning:
    """The configured reasoner with the rules of `mode` as its fallback.

    `reader` reads corrections that the rules do not understand, `listener` reads conversations besides the rules,
    `extractor` selects the lines of slim skills. `places` limits concurrent calls, in order of arrival.
    """

    def __init__(
        self,
        reasoner: Reasoner,
        on_failure: OnLlmFailure,
        touch: Callable[[], None] = lambda: None,
        mode: EvolveMode = EvolveMode.EVIDENCE,
        reader: LlmCorrectionReader | None = None,
        places: int | None = None,
        listener: LlmExtractor | None = None,
        privacy: Privacy = DEFAULT_PRIVACY,
        extractor: LlmExtract | None = None,
    ) -> None:
        self.reasoner, self.on_failure, self.touch = reasoner, on_failure, touch
        self.reader, self.listener, self.extractor, self._privacy = reader, listener, extractor, privacy
        self._without_model = without_model(mode)
        self._places = None if places is None else asyncio.Semaphore(places)
        self._waiting = 0

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """Return a proposal of the reasoner or its fallback."""

        def by_rules(told: Provenance) -> Proposal:
            return replace(self._without_model.propose(contrast, skill), reasoned_by=told)

        return await self.retry(lambda: self.reasoner.reason(contrast, skill), by_rules)

    async def select(self, skill: PolicySkill, budget: int, shares: Shares) -> SlimSelection | None:
        """Let the model select the slim skill's lines; the rules select where it is unavailable.

        A choice does not wait for the text, so the call is not retried.
        """
        if (extractor := self.extractor) is None:
            return None
        try:
            return await self._limited(lambda: extractor.select(skill, budget, shares))
        except ReasonerUnavailable as error:
            metrics.REASONER_FAILURES.labels(OnLlmFailure.RULES.value).inc()
            return SlimSelection(reasoned_by=Provenance(fallback=str(error)[:200]))

    async def understand(
        self,
        correction: Correction,
        items: Sequence[ItemFacts],
        skill: PolicySkill,
        vocabulary: Sequence[Fact],
        as_said: str = "",
    ) -> Interpretation:
        """Read a correction by rules, or else by a model.

        The user waits, so an unavailable model is not retried. `vocabulary` holds facts, besides those of the items,
        that the words can name; `as_said` is the text before the privacy filter, which only the rules may read.
        """
        # The first call compiles the patterns, which would block the event loop for a second.
        await asyncio.to_thread(language.warm_corrections)
        read = understand(correction, items, skill, vocabulary, as_said, reader=language.RULES, privacy=self._privacy)
        if self.reader is None or not needs_model(correction, read, language.RULES):
            return read
        try:
            found = await self.reader.understand(correction, items, skill)
        except ReasonerUnavailable as error:
            metrics.REASONER_FAILURES.labels(OnLlmFailure.RULES.value).inc()
            return replace(read, reasoned_by=Provenance(fallback=str(error)[:200]))
        is_answer = found.is_understood or found.why is not None
        return found if is_answer else replace(read, reasoned_by=found.reasoned_by)

    async def listen(
        self, turns: Sequence[Turn], card: Card | None, vocabulary: Callable[[str], Sequence[Fact]]
    ) -> Extraction:
        """Extract the user's statements from a chunk, by rules and the model.

        `vocabulary` returns the facts of a domain that the words can name. Raises as `retry` does.
        """
        await asyncio.to_thread(language.warm_conversations)
        by_rules = language.RULES.extract(turns, card, vocabulary)
        if (listener := self.listener) is None:
            return by_rules

        async def ask() -> Extraction:
            try:
                return combine(by_rules, await listener.listen(turns, card, vocabulary))
            except ReasonerUnavailable as error:
                # A request to forget must not wait for an endpoint.
                forgets = any(finding.effect is Effect.FORGETS for finding in by_rules.findings)
                if self.on_failure is OnLlmFailure.RULES or not forgets:
                    raise
                metrics.REASONER_FAILURES.labels(OnLlmFailure.RULES.value).inc()
                return replace(by_rules, reasoned_by=Provenance(fallback=str(error)[:200]))

        return await self.retry(
            ask, lambda by: replace(by_rules, reasoned_by=by.model_copy(update={"reasoner": "rules"}))
        )

    async def retry(
        self,
        ask: Callable[[], Awaitable[_Answer]],
        by_rules: Callable[[Provenance], _Answer],
        *,
        waits: bool = False,
    ) -> _Answer:
        """Call `ask` until it answers, or return the answer of the rules.

        With `waits`, it waits for an unavailable endpoint even if events may go without.

        Raises ReasonerFailed if the settings dead-letter events without an answer, or the model refuses one that would
        wait, and PartitionRevoked or Interrupted if the event's partition moves.
        """
        delay = FIRST_WAIT_SECONDS
        while True:
            try:
                return await self._limited(ask)
            except ReasonerUnavailable as error:
                is_away = waits and isinstance(error, EndpointUnavailable)
                action = OnLlmFailure.WAIT if is_away else self.on_failure
                if action is OnLlmFailure.WAIT and error.outcome == Outcome.REFUSED:  # it would refuse again
                    action = OnLlmFailure.DEAD_LETTER
                metrics.REASONER_FAILURES.labels(action.value).inc()
                if action is OnLlmFailure.DEAD_LETTER:
                    raise ReasonerFailed(str(error)) from error
                if action is OnLlmFailure.RULES:
                    return by_rules(Provenance(reasoner=self._without_model.name, fallback=str(error)[:200]))
                failure = error
            self._waiting += 1
            try:
                with metrics.LLM_WAITING.track_inprogress():
                    if isinstance(failure, EndpointUnavailable):
                        await self._until(failure.passable)
                        delay = FIRST_WAIT_SECONDS
                    else:
                        logger.warning("reasoner unavailable, again in %.0f s: %s", delay, failure.outcome)
                        await self._pause(delay * random.uniform(1, 1.2))  # noqa: S311 - no secret
                        delay = min(2 * delay, LAST_WAIT_SECONDS)
            finally:
                self._waiting -= 1

    async def _limited(self, ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
        if self._places is None:
            return await ask()
        has_to_wait = self._places.locked()
        async with self._places:
            if has_to_wait:  # a rebalance or shutdown may have begun meanwhile
                _check_partition()
            return await ask()

    async def _until(self, passable: Callable[[], bool]) -> None:
        # One of the waiting events is the circuit breaker's probe.
        while True:
            while not passable():
                await self._pause(POLL_SECONDS)
            await self._pause(random.uniform(0, 2 * RESUME_INTERVAL_SECONDS * self._waiting))  # noqa: S311 - no secret
            if passable():
                return

    async def _pause(self, seconds: float) -> None:
        """Sleep, report progress to the watchdog, and check the partition."""
        until = time.monotonic() + seconds
        while (remaining := until - time.monotonic()) > 0:
            self.touch()
            await asyncio.sleep(min(remaining, POLL_SECONDS))
            _check_partition()


def _check_partition() -> None:
    """Raise PartitionRevoked if the partition has moved, Interrupted if a rebalance waits."""
    event = current_event()
    if event is None:
        return
    if event.message.generation_id != event.app.consumer_generation_id:
        raise PartitionRevoked
    # Faust stops the flow before it waits for running events, and resumes it after the rebalance.
    if not event.app.flow_control.is_active():
        raise Interrupted
