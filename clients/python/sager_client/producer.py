"""The producers of an app's events, blocking and for asyncio."""

import asyncio
import concurrent.futures
import functools
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from .connection import Connection, connection_of
from .errors import NoAnswer, NotDelivered
from .follower import RequestedRankings
from .methods import CandidateLike, EventMethods, RequestFields
from .schemas import Candidate, Event, Key, encode, topic_of
from .schemas.events import Feedback, Ranking, Signal
from .sender import Limits, OnError, Sender

FLUSH_SECONDS = 30.0
RANK_SECONDS = 10.0
# An app may invent signal names without end.
MAX_WARNINGS = 1_000
# Calls of an asyncio producer that wait at once; each takes a thread.
MAX_WAITING = 256
# Records with these keys find their partition by the key. Others are written by the pipeline only.
KEYS = (Key.USER, Key.ITEM, Key.DOMAIN, Key.SUBJECT)
LIMITS = Limits()

P = ParamSpec("P")
T = TypeVar("T")
EventT = TypeVar("EventT", bound=Event)
logger = logging.getLogger("sager_client")


class EventProducer(EventMethods):
    """Produces an app's events in the background; thread-safe, one per process.

    Events wait until a broker is available. Each method returns the event that it sent.

        with EventProducer() as events:
            ranking = events.ranking("ann", "films", shown, "something to think about")
            events.selection(ranking, "arrival")

    The end of the `with` block, and `close()`, wait until the broker has acknowledged all events.

    Args:
        bootstrap: Kafka's bootstrap servers; by default `SAGER_BOOTSTRAP`.
        connection: all settings of the connection; by default from the environment.
        on_error: called with each event that is given up, in the sending thread.
        limits: bounds on waiting events.
    """

    def __init__(
        self,
        bootstrap: str | None = None,
        *,
        connection: Connection | None = None,
        on_error: OnError | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        connection = connection_of(bootstrap, connection)
        self.sender = Sender(connection, limits, on_error)
        self._rankings = RequestedRankings(connection)
        self._warned: set[str] = set()

    def rank(
        self,
        user_id: str,
        domain: str,
        candidates: Iterable[CandidateLike],
        instruction: str = "",
        *,
        seconds: float = RANK_SECONDS,
        **request: Unpack[RequestFields],
    ) -> Ranking:
        """Request a ranking of the candidates, and wait for it.

            best = events.rank("ann", "films", films, "something calm").candidates[0].item_id

        `ranking.injected.fit` estimates how well they suit, if anything is known. The first call starts a thread that
        follows the topic `rankings`.

        Raises:
            NoAnswer: no ranking arrived in time.
            BrokerUnreachable: the topic `rankings` cannot be read.
            NotDelivered: see `send`.
        """
        event = EventMethods().rank_request(user_id, domain, candidates, instruction, **request)
        self._rankings.follow(seconds)
        with self._rankings.expect(event) as ranking:
            self.send(event)
            try:
                return ranking.result(seconds)
            except concurrent.futures.TimeoutError:
                why = f"{self.pending:,} events are not delivered" if self.pending else "is a `sager worker` running?"
                raise NoAnswer(f"the RankRequest was not answered within {seconds:g} s: {why}") from None

    def send(self, event: EventT) -> EventT:
        """Send any event of an app; wait only if the queue is full.

        Events that teach nothing are sent too; a warning is logged once per kind.

        Raises:
            NotDelivered: the queue stayed full; the text names the cause.
            TypeError: only the pipeline writes events of this kind.
            Closed: this producer is closed.
        """
        topic = topic_of(type(event))
        if topic.key not in KEYS:
            raise TypeError(f"only the pipeline writes {topic.base}")
        self._warn_if_doubtful(event)
        self.sender.send(topic.base, topic.key_of(event), encode(event), event)
        return event

    def _warn_if_doubtful(self, event: Event) -> None:
        """Log why a valid event teaches nothing, once per kind."""
        found = [getattr(event, "item", None), *getattr(event, "candidates", ()), *getattr(event, "items", ())]
        items = [item for item in found if isinstance(item, Candidate)]
        warnings = {}
        if bare := sum(not item.metadata for item in items):
            warnings[event.TOPIC] = (
                f"{event.TOPIC}: {bare} of {len(items)} items without metadata. Nothing can be learned from such an "
                "item: send its facts in metadata, such as {'genres': ['Sci-Fi'], 'year': 2016}"
            )
        if isinstance(event, Feedback) and event.signal not in list(Signal):
            warnings[f"signal {event.signal}"] = (
                f"feedback: no built-in signal is called {event.signal!r}. It counts only if SAGER_SIGNALS of the "
                f"workers gives it a weight; built in are {', '.join(Signal)}"
            )
        for kind, text in warnings.items():
            if kind not in self._warned and len(self._warned) < MAX_WARNINGS:
                self._warned.add(kind)
                logger.warning(text)

    @property
    def pending(self) -> int:
        """The number of events that the broker has not acknowledged."""
        return self.sender.pending

    def flush(self, seconds: float = FLUSH_SECONDS) -> None:
        """Wait until the broker has acknowledged all events.

        Raises:
            NotDelivered: some are unacknowledged or were given up since the last call; the text names the cause.
        """
        self.sender.flush(seconds)

    def close(self, seconds: float = FLUSH_SECONDS) -> None:
        """Flush, then end the threads. Undelivered events are given up.

        Raises:
            NotDelivered: see `flush`.
        """
        try:
            self.sender.flush(seconds)
        finally:
            self.end()

    def end(self) -> None:
        """Close at once, without flushing."""
        self.sender.close()
        self._rankings.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        try:
            self.close()
        except NotDelivered:
            if error is None:
                raise
            logger.exception("events were not delivered")  # the other error is the one to be raised


def _awaited(
    method: Callable[Concatenate[EventMethods, P], EventT],
) -> Callable[Concatenate["AsyncEventProducer", P], Coroutine[Any, Any, EventT]]:
    """Convert a method that sends an event to one that awaits it."""

    @functools.wraps(method)
    async def call(self: "AsyncEventProducer", /, *args: P.args, **kwargs: P.kwargs) -> EventT:
        return await self.send(method(EventMethods(), *args, **kwargs))

    return call


def _in_thread(
    method: Callable[Concatenate[EventProducer, P], T],
) -> Callable[Concatenate["AsyncEventProducer", P], Awaitable[T]]:
    """Convert a method that waits to one that waits in a thread."""

    @functools.wraps(method)
    async def call(self: "AsyncEventProducer", /, *args: P.args, **kwargs: P.kwargs) -> T:
        waiting = functools.partial(method, self._events, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._threads, waiting)

    return call


class AsyncEventProducer:
    """`EventProducer` for asyncio, with the same methods and arguments.

        async with AsyncEventProducer() as events:
            ranking = await events.ranking("ann", "films", shown, "something to think about")
            await events.selection(ranking, "arrival")

    `on_error` is called in the sending thread: use `loop.call_soon_threadsafe` for work of the loop.
    """

    def __init__(
        self,
        bootstrap: str | None = None,
        *,
        connection: Connection | None = None,
        on_error: OnError | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self._events = EventProducer(bootstrap, connection=connection, on_error=on_error, limits=limits)
        self._threads = concurrent.futures.ThreadPoolExecutor(MAX_WAITING, "sager-waiting")

    item = _awaited(EventMethods.item)
    interaction = _awaited(EventMethods.interaction)
    rank_request = _awaited(EventMethods.rank_request)
    ranking = _awaited(EventMethods.ranking)
    selection = _awaited(EventMethods.selection)
    none_of_these = _awaited(EventMethods.none_of_these)
    feedback = _awaited(EventMethods.feedback)
    utterance = _awaited(EventMethods.utterance)
    correct = _awaited(EventMethods.correct)
    answer = _awaited(EventMethods.answer)
    forget = _awaited(EventMethods.forget)

    rank = _in_thread(EventProducer.rank)
    flush = _in_thread(EventProducer.flush)
    close = _in_thread(EventProducer.close)

    async def send(self, event: EventT) -> EventT:
        """Send any event that apps write, and return it; see `EventProducer.send`."""
        if self._events.sender.has_room:
            return self._events.send(event)
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._events.send, event)

    @property
    def pending(self) -> int:
        """The number of events that the broker has not acknowledged."""
        return self._events.pending

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        leave = functools.partial(self._events.__exit__, kind, error, trace)
        await asyncio.get_running_loop().run_in_executor(self._threads, leave)
