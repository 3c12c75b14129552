"""The product as a learner behind a running pipeline: what it offers and hears goes over the broker, as from an app."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Self, TypeVar

from evaluation.exceptions import QualityError
from evaluation.feedback.learners import EXPLORES, Offer
from evaluation.feedback.person import Kind, Reply, in_words
from evaluation.feedback.play import Pass, Play, Played, Tell
from evaluation.feedback.scenarios import LEARNING, Scenario, Scenarios
from evaluation.feedback.skills import Directed, Replies, said_of
from operators.contrast import abstention_id, contrast_id
from schemas import Correction, Directive, Question, RankRequest, Selection, SkillDiff
from schemas.fields import Domain, UserId
from streams.demo.observer import Observer
from streams.kafka.events import EventOutbox, envelope
from streams.local.launch import Local

PATIENCE_SECONDS = 60.0
_TICK_SECONDS = 0.005
_POLL_SECONDS = 0.02
T = TypeVar("T")


class PipeStalled(QualityError, RuntimeError):
    """The pipeline did not answer."""


class Piped:
    """Learns behind a pipeline. Use it as an asynchronous context manager.

    Args:
        local: the pipeline.
        replies: how the person's replies arrive.
    """

    def __init__(self, local: Local, replies: Replies) -> None:
        self.replies = replies
        self.outcomes: Counter[str] = Counter()
        self.directed: list[Directed] = []
        self.seconds: list[float] = []
        """From each correction to the ranking that answers the next request."""
        self._local = local
        self._observer = Observer(local.settings, local.check, PATIENCE_SECONDS)
        self._events = EventOutbox(local.settings)
        self._asked = 0

    async def offer(self, scenario: Scenario, *, explores: bool, asks: bool = False) -> Offer:
        """The ranking's first candidate, unless the ranking says that better nothing is shown."""
        self._asked += 1
        request = self._events.send(
            RankRequest(
                **envelope(datetime.now(UTC)),
                request_id=f"{scenario.key}-{self._asked}",
                user_id=UserId(scenario.user_id),
                domain=Domain(scenario.domain),
                candidates=scenario.items,
                clarify=asks,
            )
        )
        ranking = await self._arrived(lambda: self._observer.seen.rankings.get(request.request_id), "ranking")
        order, fit = tuple(str(item.item_id) for item in ranking.candidates), ranking.injected.fit
        suits = fit is None or (fit.chances[0] > EXPLORES if explores else fit.suits)
        return Offer(order[0] if suits else None, order, fit, ranking.ranking_id)

    async def hear(self, scenario: Scenario, offer: Offer, reply: Reply) -> None:
        """Sends the selection, that nothing was taken, or the correction; waits for the skill to have learned."""
        if reply.is_right:
            none = reply.kind is Kind.CONFIRMED_NONE
            self._events.send(
                Selection(
                    **envelope(datetime.now(UTC)),
                    user_id=UserId(scenario.user_id),
                    ranking_id=offer.ranking_id,
                    item_id=reply.item_id,
                    none_taken=none,
                )
            )
            event_id = (abstention_id if none else contrast_id)(scenario.user_id, offer.ranking_id)
            await self._learned(event_id)
            self.outcomes["abstained" if none else "evolved"] += 1
        else:
            await self._correct(scenario, reply)

    async def told(self, scenario: Scenario, question: Question, says: tuple[Directive, ...]) -> None:
        """The answer is a correction."""
        await self._correct(scenario, Reply(Kind.REJECTED, in_words(says), says=says), question.question_id)

    async def _correct(self, scenario: Scenario, reply: Reply, answers: str | None = None) -> None:
        said = said_of(scenario, reply, self.replies)
        began = time.monotonic()
        sent = self._events.send(
            Correction(
                **envelope(datetime.now(UTC)),
                user_id=UserId(scenario.user_id),
                domain=Domain(scenario.domain),
                answers=answers,
                **said,
            )
        )
        diff = await self._learned(sent.event_id)
        self.outcomes["corrected" if diff.heard is None or diff.heard.understood else "not-understood"] += 1
        next_offer = await self.offer(scenario, explores=False)
        self.seconds.append(time.monotonic() - began)
        named = {each.statement_id for each in diff.stated if each.statement is not None}
        if any(each.stance == "avoids" for each in reply.says):
            fit = next_offer.fit
            last = fit is not None and _are_last(next_offer.order, fit.against)
            self.directed.append(Directed(last, fit is not None and bool(named) and named <= set(fit.honoured)))

    async def _learned(self, event_id: str) -> SkillDiff:
        return await self._arrived(lambda: self._observer.seen.diffs.get(event_id), "diff")

    async def _arrived(self, look: Callable[[], T | None], what: str) -> T:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while (found := look()) is None:
            for letter in list(self._observer.seen.dead_letters.values()):
                raise PipeStalled(f"the pipeline refused a record at {letter.stage}: {letter.detail}")
            if time.monotonic() > give_up:
                logs = self._local.settings.data_dir
                raise PipeStalled(f"no {what} for {PATIENCE_SECONDS:.0f} s; the pipeline's logs are in {logs}")
            await asyncio.sleep(_TICK_SECONDS)
        return found

    async def _follow(self) -> None:
        while True:
            await asyncio.to_thread(self._observer.poll, _POLL_SECONDS)
            self._local.check()

    async def __aenter__(self) -> Self:
        self._events.__enter__()
        self._following = asyncio.create_task(self._follow())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._following.cancel()
        with suppress(asyncio.CancelledError):
            await self._following
        self._observer.close()
        if error is None:
            self._events.flush()


def _are_last(order: Sequence[str], against: object) -> bool:
    marks = [item_id in against for item_id in order]  # type: ignore[operator]
    return marks == sorted(marks)


async def through(scenarios: Scenarios, learner: Piped, *, asks: bool, tell: Tell) -> Played:
    """One pass of the protocol, everybody at the same time, each in their own order; the turns in the data's order."""
    done: Counter[str] = Counter()

    def told(stage: str, at: int, total: int) -> None:
        if at == total:
            done[stage] += 1
            tell(stage, done[stage], len(persons))

    persons = scenarios.persons()
    plays = [
        Play(scenarios.alone(person), learner, 1, asks=asks, phases=scenarios.alone(person).learning).run(told)
        for person in persons
    ]
    found = await asyncio.gather(*plays)
    joined = Played()
    for phase in LEARNING:
        passes = [each for play in found for each in play.of(phase)]
        turns = tuple(turn for each in passes for turn in each.turns)
        test = tuple(turn for each in passes for turn in each.test)
        joined.passes.append(Pass(phase, 1, turns, test))
    return joined
