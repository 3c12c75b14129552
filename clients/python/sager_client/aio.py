"""The same for asyncio: nothing here blocks the event loop, and nothing is implemented twice."""

import asyncio
import functools
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack, overload

from . import made_feedback, making
from .connection import Connection
from .events import (
    FLUSH_SECONDS,
    GIVE_UP_SECONDS,
    MAX_BYTES,
    MAX_EVENTS,
    RANK_SECONDS,
    WAIT_SECONDS,
    EventProducer,
)
from .exceptions import BrokerUnreachable, NotDelivered
from .making import CandidateLike
from .schemas import Correction, Event, Ranking, SlimSkill
from .sender import OnError
from .slim_skills import READY_SECONDS, SlimSkills
from .slim_skills import WAIT_SECONDS as READ_SECONDS
from .telling import CorrectionFields, Telling
from .understood import Understood

LOOK_SECONDS = 0.01
"""How often a waiting task looks. A thread of its own for each that waits would outlive a task that is cancelled."""

P = ParamSpec("P")
EventT = TypeVar("EventT", bound=Event)
OnSkillAsync = Callable[[SlimSkill], Awaitable[None] | None]

logger = logging.getLogger("sager_client")


def _awaited(
    method: Callable[Concatenate[Telling, P], EventT],
) -> Callable[Concatenate["AsyncEventProducer", P], Coroutine[Any, Any, EventT]]:
    """A method of the blocking producer that makes an event and sends it, with an asynchronous sending."""

    @functools.wraps(method)
    async def call(self: "AsyncEventProducer", /, *args: P.args, **kwargs: P.kwargs) -> EventT:
        return await self.send(method(self._events, *args, **kwargs))

    return call


class _Unsent(EventProducer):
    """Makes events, and leaves the sending to somebody else."""

    def send(self, event: EventT) -> EventT:
        return event


class AsyncEventProducer:
    """`EventProducer` for asyncio: the same methods, awaited. One per process, for its life.

        async with AsyncEventProducer() as events:
            ranking = await events.ranking("ann", "films", shown, "something to think about")
            await events.selection(ranking, "arrival")

    Args:
        bootstrap: Kafka's bootstrap servers; by default what `SAGER_BOOTSTRAP` says.
        connection: all of how the deployment is reached, instead; by default what the environment says.
        on_error: called with each event that is given up, and why, in the sending thread: be quick, and use
            `loop.call_soon_threadsafe` for what belongs to the loop.
        max_events: how many events wait for the broker at most.
        max_bytes: how many bytes they have at most.
        wait_seconds: how long a call waits for room when that many are waiting; then it raises `NotDelivered`.
        give_up_seconds: an event that the broker has not acknowledged after this time is given up.

    Raises:
        Misconfigured: a setting is wrong.
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
        self._events = _Unsent(
            bootstrap,
            connection=connection,
            on_error=on_error,
            max_events=max_events,
            max_bytes=max_bytes,
            wait_seconds=0,  # it is this class that waits
            give_up_seconds=give_up_seconds,
        )

    item = _awaited(EventProducer.item)
    interaction = _awaited(EventProducer.interaction)
    rank_request = _awaited(EventProducer.rank_request)
    ranking = _awaited(EventProducer.ranking)
    selection = _awaited(EventProducer.selection)
    none_of_these = _awaited(EventProducer.none_of_these)
    feedback = _awaited(EventProducer.feedback)
    utterance = _awaited(EventProducer.utterance)
    answer = _awaited(EventProducer.answer)
    forget = _awaited(EventProducer.forget)
    command = _awaited(EventProducer.command)
    card_command = _awaited(EventProducer.card_command)

    @property
    def pending(self) -> int:
        """How many events the broker has not acknowledged."""
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
        """Ask for a ranking, and wait for it; see `EventProducer.rank`.

        Raises:
            NoAnswer: there was none within `seconds`.
            BrokerUnreachable: the topic `rankings` cannot be read.
            NotDelivered: see `EventProducer.send`.
        """
        request = making.rank_request(
            user_id, domain, candidates, instruction, request_id, None, clarify=clarify, session_id=session_id
        )
        follower = self._events.answers.follow()
        if not await _until(lambda: follower.ready, seconds):
            raise follower.too_late(seconds)
        with self._events.answers.to(user_id, request.request_id) as answer:
            await self.send(request)
            try:
                async with asyncio.timeout(seconds):
                    return await asyncio.wrap_future(answer)
            except TimeoutError:
                raise self._events.no_answer(seconds) from None

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
        """Send a person's own words; with `wait`, return the worker's answer. See `EventProducer`.

        Raises:
            NoAnswer: there was none within `wait` seconds.
            BrokerUnreachable: the topic `skill-diffs` cannot be read.
            NotShown: it names an item that the person does not see.
            NotDelivered: see `EventProducer.send`.
        """
        correction = made_feedback.correction(user_id, domain, text, **more)
        if wait is None:
            return await self.send(correction)
        follower = self._events.understood.follow()
        if not await _until(lambda: follower.ready, wait):
            raise follower.too_late(wait)
        with self._events.understood.to(user_id, correction.event_id) as answer:
            await self.send(correction)
            try:
                async with asyncio.timeout(wait):
                    return Understood.of(correction, await asyncio.wrap_future(answer))
            except TimeoutError:
                raise self._events.no_answer(wait, "correction") from None

    async def send(self, event: EventT) -> EventT:
        """Send any event that apps write, and give it back; see `EventProducer.send`.

        Raises:
            NotDelivered: too many events wait for the broker, which is told with the cause.
            Misconfigured: the broker's topics do not have the number of partitions that they have to have.
            TypeError: it is of a kind that only the pipeline writes.
            Closed: this producer is closed.
        """
        sender = self._events.sender
        if not sender.has_room and not await _until(lambda: sender.has_room, self._wait_seconds):
            raise sender.no_room(self._wait_seconds)
        return EventProducer.send(self._events, event)

    async def flush(self, seconds: float = FLUSH_SECONDS) -> None:
        """Wait until the broker has all that was sent.

        Raises:
            NotDelivered: it took not all of it in time, or some was given up since the last call; the text says why.
            Misconfigured: see `EventProducer.send`.
        """
        await _until(lambda: not self.pending, seconds)
        self._events.sender.report(seconds)

    async def close(self, seconds: float = FLUSH_SECONDS) -> None:
        """Flush, then end the threads. What is not delivered by then is given up.

        Raises:
            NotDelivered: see `flush`.
        """
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
            logger.exception("on the way out after another error")  # which is the one to be raised


class AsyncSlimSkills:
    """`SlimSkills` for asyncio. What it holds is in memory, so that `get` and `skill` are plain calls.

        async with AsyncSlimSkills() as skills:
            skills.get("ann", "films")  # 'likes: sci-fi | style: prefers 2010s'

    Args:
        bootstrap: Kafka's bootstrap servers; by default what `SAGER_BOOTSTRAP` says.
        connection: all of how the deployment is reached, instead; by default what the environment says.
        on_change: a function, or a coroutine function, called in the event loop with every slim skill that is new.
            What it raises is logged.
        on_removed: the same for every slim skill that is gone, as when its person was forgotten.

    Raises:
        Misconfigured: a setting is wrong.
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
        """The text to inject into this user's prompt; see `SlimSkills.get`."""
        return self._skills.get(user_id, domain, session_id)

    def skill(self, user_id: str, domain: str) -> SlimSkill | None:
        """The whole slim skill, with its version and token count."""
        return self._skills.skill(user_id, domain)

    def __len__(self) -> int:
        return len(self._skills)

    @property
    def ready(self) -> bool:
        """True once the whole topic has been read; until then users may be missing."""
        return self._skills.ready

    async def start(self, seconds: float = READY_SECONDS) -> Self:
        """Follow the topic, and wait up to `seconds` until all of it is read; see `SlimSkills.start`.

        Raises:
            Closed: `close` was called.
        """
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
        """Wait until the whole topic is read; see `SlimSkills.wait`.

        Raises:
            BrokerUnreachable: it took longer than `seconds`; the message names the cause.
        """
        follower = self._skills.follower
        if not await _until(lambda: follower.ready, seconds):
            raise follower.too_late(seconds)

    async def close(self) -> None:
        """End the reading thread; what was read can still be asked for."""
        await asyncio.to_thread(self._skills.close)

    def _in_loop(self, callback: OnSkillAsync, skill: SlimSkill) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._call, callback, skill)

    def _call(self, callback: OnSkillAsync, skill: SlimSkill) -> None:
        try:
            told = callback(skill)
        except Exception:
            logger.exception("a callback of AsyncSlimSkills raised")
            return
        if inspect.isawaitable(told):
            task = asyncio.ensure_future(told)
            self._tasks.add(task)  # the loop itself holds a task only weakly
            task.add_done_callback(self._finished)

    def _finished(self, task: "asyncio.Future[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("a callback of AsyncSlimSkills raised", exc_info=error)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def _until(done: Callable[[], bool], seconds: float) -> bool:
    """Look every now and then whether something is so; whether it was in time."""
    give_up = time.monotonic() + seconds
    while not done():
        if time.monotonic() >= give_up:
            return False
        await asyncio.sleep(LOOK_SECONDS)
    return True
