"""The producer and the slim skills for asyncio: nothing blocks the event loop, and nothing is implemented twice."""

import asyncio
import functools
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack, overload

from .connection import Connection
from .errors import BrokerUnreachable, NotDelivered
from .follower import Answers
from .methods import CandidateLike, CorrectionFields, EventMethods, correction
from .producer import (
    FLUSH_SECONDS,
    GIVE_UP_SECONDS,
    MAX_BYTES,
    MAX_EVENTS,
    RANK_SECONDS,
    WAIT_SECONDS,
    EventProducer,
    Understood,
)
from .schemas import Correction, Event, Ranking, SlimSkill
from .sender import OnError
from .slim_skills import READY_SECONDS, SlimSkills
from .slim_skills import WAIT_SECONDS as READ_SECONDS

LOOK_SECONDS = 0.01
"""How often a waiting task looks. A thread of its own for each would outlive a task that is cancelled."""

P = ParamSpec("P")
EventT = TypeVar("EventT", bound=Event)
OnSkillAsync = Callable[[SlimSkill], Awaitable[None] | None]

logger = logging.getLogger("sager_client")


def _awaited(
    method: Callable[Concatenate[EventMethods, P], EventT],
) -> Callable[Concatenate["AsyncEventProducer", P], Coroutine[Any, Any, EventT]]:
    """Make a method that makes an event as another one does, and awaits its sending."""

    @functools.wraps(method)
    async def call(self: "AsyncEventProducer", /, *args: P.args, **kwargs: P.kwargs) -> EventT:
        return await self.send(method(_MAKER, *args, **kwargs))

    return call


class _Maker(EventMethods):
    """Makes events without sending them."""

    def send(self, event: EventT) -> EventT:
        return event


_MAKER = _Maker()


class AsyncEventProducer:
    """`EventProducer` for asyncio: the same methods, awaited. One per process, for its life.

        async with AsyncEventProducer() as events:
            ranking = await events.ranking("ann", "films", shown, "something to think about")
            await events.selection(ranking, "arrival")

    The arguments are those of `EventProducer`. `on_error` is called in the sending thread: use
    `loop.call_soon_threadsafe` for work of the loop.
    """

    def __init__(
        self,
        bootstrap: str | None = None,
        *,
        connection: Connection | None = None,
        on_error: OnError | None = None,
        max_events: int = MAX_EVENTS,
        max_bytes: int = MAX_BYTES,
        wait_seconds: float = WAIT_SECONDS,
        give_up_seconds: float = GIVE_UP_SECONDS,
    ) -> None:
        self._wait_seconds = wait_seconds
        self._events = EventProducer(
            bootstrap,
            connection=connection,
            on_error=on_error,
            max_events=max_events,
            max_bytes=max_bytes,
            wait_seconds=0,  # this class waits
            give_up_seconds=give_up_seconds,
        )

    item = _awaited(EventMethods.item)
    interaction = _awaited(EventMethods.interaction)
    rank_request = _awaited(EventMethods.rank_request)
    ranking = _awaited(EventMethods.ranking)
    selection = _awaited(EventMethods.selection)
    none_of_these = _awaited(EventMethods.none_of_these)
    feedback = _awaited(EventMethods.feedback)
    utterance = _awaited(EventMethods.utterance)
    answer = _awaited(EventMethods.answer)
    forget = _awaited(EventMethods.forget)
    command = _awaited(EventMethods.command)
    card_command = _awaited(EventMethods.card_command)

    @property
    def pending(self) -> int:
        """The number of events that the broker has not acknowledged."""
        return self._events.pending

    async def rank(
        self,
        user_id: str,
        domain: str,
        candidates: Iterable[CandidateLike],
        instruction: str = "",
        *,
        request_id: str | None = None,
        seconds: float = RANK_SECONDS,
        clarify: bool = False,
        session_id: str | None = None,
    ) -> Ranking:
        """Request a ranking, and wait for it; see `EventProducer.rank`."""
        request = _MAKER.rank_request(
            user_id, domain, candidates, instruction, request_id=request_id, clarify=clarify, session_id=session_id
        )
        answers = self._events.answers
        return await self._answered(answers, user_id, request.request_id, request, seconds, "rank request")

    @overload
    async def correct(
        self, user_id: str, domain: str, text: str = "", *, wait: None = None, **more: Unpack[CorrectionFields]
    ) -> Correction: ...

    @overload
    async def correct(
        self, user_id: str, domain: str, text: str = "", *, wait: float, **more: Unpack[CorrectionFields]
    ) -> Understood: ...

    async def correct(
        self,
        user_id: str,
        domain: str,
        text: str = "",
        *,
        wait: float | None = None,
        **more: Unpack[CorrectionFields],
    ) -> Correction | Understood:
        """Send a person's own words; with `wait`, return the worker's answer. See `EventProducer.correct`."""
        event = correction(user_id, domain, text, **more)
        if wait is None:
            return await self.send(event)
        understood = self._events.understood
        diff = await self._answered(understood, user_id, event.event_id, event, wait, "correction")
        return Understood.of(event, diff)

    async def _answered(
        self, answers: Answers[EventT], user_id: str, request_id: str, request: Event, seconds: float, named: str
    ) -> EventT:
        """Send a request once its answer cannot be missed, and wait for the answer."""
        follower = answers.follow()
        if not await _until(lambda: follower.ready, seconds):
            raise follower.too_late(seconds)
        with answers.to(user_id, request_id) as answer:
            await self.send(request)
            try:
                async with asyncio.timeout(seconds):
                    return await asyncio.wrap_future(answer)
            except TimeoutError:
                raise self._events.no_answer(seconds, named) from None

    async def send(self, event: EventT) -> EventT:
        """Send any event that apps write, and return it; see `EventProducer.send`."""
        sender = self._events.sender
        if not await _until(lambda: sender.has_room, self._wait_seconds):
            raise sender.no_room(self._wait_seconds)
        return self._events.send(event)

    async def flush(self, seconds: float = FLUSH_SECONDS) -> None:
        """Wait until the broker has acknowledged all events; see `EventProducer.flush`."""
        await _until(lambda: not self.pending, seconds)
        self._events.sender.report(seconds)

    async def close(self, seconds: float = FLUSH_SECONDS) -> None:
        """Flush, then end the threads. Events that are not delivered by then are given up."""
        try:
            await self.flush(seconds)
        finally:
            await asyncio.to_thread(self._events.end)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.close()
        except NotDelivered:
            if error is None:
                raise
            logger.exception("events were not delivered")  # the other error is the one to be raised


class AsyncSlimSkills:
    """`SlimSkills` for asyncio. The skills are in memory, so that `get` and `skill` are plain calls.

        async with AsyncSlimSkills() as skills:
            skills.get("ann", "films")  # 'likes: sci-fi | style: prefers 2010s'

    The arguments are those of `SlimSkills`. Callbacks are functions or coroutine functions, called in the event loop.
    """

    def __init__(
        self,
        bootstrap: str | None = None,
        *,
        connection: Connection | None = None,
        on_change: OnSkillAsync | None = None,
        on_removed: OnSkillAsync | None = None,
    ) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Future[None]] = set()
        self._skills = SlimSkills(
            bootstrap,
            connection=connection,
            on_change=None if on_change is None else functools.partial(self._in_loop, on_change),
            on_removed=None if on_removed is None else functools.partial(self._in_loop, on_removed),
        )

    def get(self, user_id: str, domain: str, session_id: str | None = None) -> str:
        """Return the text to inject into this user's prompt; see `SlimSkills.get`."""
        return self._skills.get(user_id, domain, session_id)

    def skill(self, user_id: str, domain: str) -> SlimSkill | None:
        """Return the whole slim skill, with its version and token count."""
        return self._skills.skill(user_id, domain)

    def __len__(self) -> int:
        return len(self._skills)

    @property
    def ready(self) -> bool:
        """True once the whole topic has been read; until then users may be missing."""
        return self._skills.ready

    async def start(self, seconds: float = READY_SECONDS) -> Self:
        """Follow the topic, and wait up to `seconds` until all of it is read; see `SlimSkills.start`."""
        self._loop = asyncio.get_running_loop()
        self._skills.follower.start()
        try:
            await self.wait(seconds)
        except BrokerUnreachable as error:
            self._skills.on_late(error)
        except BaseException:
            await self.close()
            raise
        return self

    async def wait(self, seconds: float = READ_SECONDS) -> None:
        """Wait until the whole topic is read; see `SlimSkills.wait`."""
        follower = self._skills.follower
        if not await _until(lambda: follower.ready, seconds):
            raise follower.too_late(seconds)

    async def close(self) -> None:
        """End the reading thread; the skills stay readable."""
        await asyncio.to_thread(self._skills.close)

    def _in_loop(self, callback: OnSkillAsync, skill: SlimSkill) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._call, callback, skill)

    def _call(self, callback: OnSkillAsync, skill: SlimSkill) -> None:
        async def run() -> None:
            try:
                result = callback(skill)
                if inspect.isawaitable(result):
                    await result
            except Exception:
                logger.exception("a callback of AsyncSlimSkills raised")

        task = asyncio.ensure_future(run())
        self._tasks.add(task)  # the loop itself holds a task only weakly
        task.add_done_callback(self._tasks.discard)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def _until(is_done: Callable[[], bool], seconds: float) -> bool:
    """Wait until a condition is true; return False if it is not in time."""
    deadline = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(LOOK_SECONDS)
    return True
