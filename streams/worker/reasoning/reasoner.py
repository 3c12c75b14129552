"""Which reasoner answers, and what happens when it cannot: fall back, wait, or give the contrast up."""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Protocol, TypeVar, runtime_checkable

from faust.streams import current_event

from operators.evolve import Proposal, Reasoner, ReasonerUnavailable, without_model
from operators.language.corrections import understand, worth_asking
from operators.language.extraction import both
from operators.language.finding import Effect, Heard
from operators.language.understood import Understood
from operators.options import EvolveMode
from operators.privacy import Privacy
from schemas import Contrast, Correction, Fact, ItemFacts, PolicySkill, ReasonedBy
from schemas.cards import Card, Turn
from streams import language
from streams.privacy import DEFAULT
from streams.settings import OnLlmFailure
from streams.worker import metrics
from streams.worker.runtime.ordered import Abandoned, Stale
from streams.worker.runtime.warming import Warming

logger = logging.getLogger("sager.reasoning")

FIRST_WAIT_SECONDS = 1.0
LAST_WAIT_SECONDS = 60.0
LOOK_SECONDS = 0.25
"""How soon who waits notices that the endpoint is back, or that their partition is not."""
APART_SECONDS = 0.05
"""Who waited for the same endpoint goes on this far apart, on average: it gets no 64 calls in its first moment."""

_Answer = TypeVar("_Answer")


class Understands(Protocol):
    """Reads what a person says where rules understand nothing."""

    async def understand(self, correction: Correction, items: Sequence[ItemFacts], skill: PolicySkill) -> Understood:
        """What the person says.

        Raises:
            ReasonerUnavailable: there is no answer.
        """
        ...


class Listens(Protocol):
    """Reads what a person says of themselves in a chunk of a conversation."""

    async def listen(
        self, turns: Sequence[Turn], card: Card | None, vocabulary: Callable[[str], Sequence[Fact]]
    ) -> Heard:
        """What the person says.

        Raises:
            ReasonerUnavailable: there is no answer.
        """
        ...


class GivenUp(Exception):
    """No reasoner answers for this contrast or chunk; it belongs into the dead letters."""


@runtime_checkable
class Away(Protocol):
    """An error that knows when it is worth asking again; `streams.llm.EndpointAway`, said without its extra."""

    passable: Callable[[], bool]


class Reasoning:
    """The configured reasoner with its fallback.

    Args:
        reasoner: who is asked first.
        on_failure: what to do when they are unavailable.
        touch: called again and again while waiting, so that waiting is not taken for being stuck.
        mode: how a choice changes a skill.
        reader: who reads words that rules do not understand; None: nobody.
        places: how many may ask at once; None: any number. Events may be under way beyond that: while some are
            prepared or written, no place stands empty.
        listener: who reads conversations besides the rules; None: nobody.
        privacy: names the placeholders of private data.
    """

    def __init__(
        self,
        reasoner: Reasoner,
        on_failure: OnLlmFailure,
        touch: Callable[[], None] = lambda: None,
        mode: EvolveMode = EvolveMode.COUNTS,
        reader: Understands | None = None,
        places: int | None = None,
        listener: Listens | None = None,
        privacy: Privacy = DEFAULT,
    ) -> None:
        self.reasoner = reasoner
        self.on_failure = on_failure
        self.touch = touch
        self.reader = reader
        self.listener = listener
        self._privacy = privacy
        self._without_model = without_model(mode)
        # The languages' patterns: half a second of CPU, and two.
        self._corrections = Warming(language.warm_corrections)
        self._conversations = Warming(language.warm_conversations)
        self._places = nullcontext() if places is None else Places(places)
        self._waiting = 0

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """A proposal, from the configured reasoner or from the rules in its stead.

        Raises:
            GivenUp: by configuration, a contrast without an answer is dead-lettered.
            Stale, Abandoned: the contrast's partition has moved or is about to, while it waited for an answer.
        """

        def by_rules(told: ReasonedBy) -> Proposal:
            return replace(self._without_model.propose(contrast, skill), reasoned_by=told)

        return await self._retry(lambda: self.reasoner.reason(contrast, skill), by_rules)

    async def understand(
        self,
        correction: Correction,
        items: Sequence[ItemFacts],
        skill: PolicySkill,
        vocabulary: Sequence[Fact],
        as_said: str = "",
    ) -> Understood:
        """Read a person's words by rules, or by a model if the rules understand nothing.

        The person waits for the answer, so an unavailable model is not awaited.

        Args:
            correction: its text without private data.
            items: the facts of the items that the person sees.
            skill: the person's.
            vocabulary: further facts that the words can name.
            as_said: the text before the privacy filter, for the rules alone.
        """
        await self._corrections.wait()
        read = understand(correction, items, skill, vocabulary, as_said, reader=language.RULES, privacy=self._privacy)
        if self.reader is None or not worth_asking(correction, read, language.RULES):
            return read
        try:
            found = await self.reader.understand(correction, items, skill)
        except ReasonerUnavailable as error:
            metrics.REASONER_FAILURES.labels(OnLlmFailure.RULES.value).inc()
            return replace(read, reasoned_by=ReasonedBy(fallback=str(error)[:200]))
        is_answer = found.is_understood or found.why is not None
        return found if is_answer else replace(read, reasoned_by=found.reasoned_by)

    async def listen(
        self, turns: Sequence[Turn], card: Card | None, vocabulary: Callable[[str], Sequence[Fact]]
    ) -> Heard:
        """What a person says of themselves in a chunk of a conversation: by rules, and by a model too, if there is one.

        Args:
            turns: in their order.
            card: what is known of the person; None: nothing.
            vocabulary: the facts of a domain.

        Raises:
            GivenUp: by configuration, a chunk without an answer is dead-lettered.
            Stale, Abandoned: the event's partition has moved or is about to, while it waited for an answer.
        """
        await self._conversations.wait()
        by_rules = language.RULES.extract(turns, card, vocabulary)
        if (listener := self.listener) is None:
            return by_rules

        async def ask() -> Heard:
            try:
                return both(by_rules, await listener.listen(turns, card, vocabulary))
            except ReasonerUnavailable as error:
                # What is to be forgotten waits for no endpoint.
                if self.on_failure is OnLlmFailure.RULES or not _forgets(by_rules):
                    raise
                metrics.REASONER_FAILURES.labels(OnLlmFailure.RULES.value).inc()
                return replace(by_rules, reasoned_by=ReasonedBy(fallback=str(error)[:200]))

        return await self._retry(
            ask, lambda told: replace(by_rules, reasoned_by=told.model_copy(update={"reasoner": "rules"}))
        )

    async def _retry(self, ask: Callable[[], Awaitable[_Answer]], by_rules: Callable[[ReasonedBy], _Answer]) -> _Answer:
        delay = FIRST_WAIT_SECONDS
        while True:
            try:
                async with self._places:
                    return await ask()
            except ReasonerUnavailable as error:
                metrics.REASONER_FAILURES.labels(self.on_failure.value).inc()
                if self.on_failure is OnLlmFailure.DEAD_LETTER:
                    raise GivenUp(str(error)) from error
                if self.on_failure is OnLlmFailure.RULES:
                    return by_rules(ReasonedBy(reasoner=self._without_model.name, fallback=str(error)[:200]))
                failure = error
            self._waiting += 1
            try:
                with metrics.LLM_WAITING.track_inprogress():
                    if isinstance(failure, Away):
                        await self._until(failure.passable)
                        delay = FIRST_WAIT_SECONDS
                    else:
                        logger.warning("reasoner unavailable, again in %.0f s: %s", delay, failure.outcome)
                        await self._pause(delay * random.uniform(1, 1.2))  # noqa: S311 - no secret
                        delay = min(2 * delay, LAST_WAIT_SECONDS)
            finally:
                self._waiting -= 1

    async def _until(self, passable: Callable[[], bool]) -> None:
        """Wait until calls go out again; the circuit breaker sets the pace, and one of all who wait is its probe."""
        while True:
            while not passable():
                await self._pause(LOOK_SECONDS)
            await self._pause(random.uniform(0, 2 * APART_SECONDS * self._waiting))  # noqa: S311 - no secret
            if passable():
                return

    async def _pause(self, seconds: float) -> None:
        """Sleep, and be seen to be alive.

        Raises:
            Stale: another worker has the partition of this contrast by now, and asks for itself.
            Abandoned: a rebalance or the worker's end has begun, and would wait for this contrast.
        """
        until = time.monotonic() + seconds
        while (remaining := until - time.monotonic()) > 0:
            self.touch()
            await asyncio.sleep(min(remaining, LOOK_SECONDS))
            _assert_wanted()


def _forgets(heard: Heard) -> bool:
    return any(finding.effect is Effect.FORGETS for finding in heard.findings)


class Places:
    """So many may ask at once; the others wait for one of them, in their order. A context manager.

    Args:
        count: how many.

    Raises:
        Stale, Abandoned: a rebalance or the end has begun while the event in hand waited. It has asked nobody yet, and
            both would wait for a call more.
    """

    def __init__(self, count: int) -> None:
        self._room = asyncio.Semaphore(count)

    async def __aenter__(self) -> None:
        has_to_wait = self._room.locked()
        await self._room.acquire()
        try:
            if has_to_wait:
                _assert_wanted()
        except BaseException:
            self._room.release()
            raise

    async def __aexit__(self, *error: object) -> None:
        self._room.release()


def _assert_wanted() -> None:
    """Raises if nobody needs the answer for the event in hand any more; outside of a stream somebody does."""
    event = current_event()
    if event is None:
        return
    if event.message.generation_id != event.app.consumer_generation_id:
        raise Stale
    # Faust stops the flow before it waits for what is under way, and lets it go on when all is settled anew.
    if not event.app.flow_control.is_active():
        raise Abandoned
