"""The producer of an app's events."""

import asyncio
import logging
from collections.abc import Iterable
from typing import Self, TypeVar, Unpack

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
# Records with these keys find their partition by the key. Others are written by the pipeline only.
KEYS = (Key.USER, Key.ITEM, Key.DOMAIN, Key.SUBJECT)
LIMITS = Limits()

EventT = TypeVar("EventT", bound=Event)
logger = logging.getLogger("sager_client")


class EventProducer(EventMethods):
    """Produces an app's events in the background; thread-safe, one per process.

    Events wait until a broker is available. Each method returns the event that it sent.

        with EventProducer() as events:
            ranking = events.ranking("ann", "films", shown, "something to think about")
            events.selection(ranking, "arrival")

    The end of the `with` block, and `close()`, wait until the broker has acknowledged all events.

    With asyncio, write `async with`, and await `rank_async`. The other methods are plain calls, which never block the
    event loop: they raise `NotDelivered` at once if the queue is full.

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
            except TimeoutError:
                raise self._no_answer(seconds) from None

    async def rank_async(
        self,
        user_id: str,
        domain: str,
        candidates: Iterable[CandidateLike],
        instruction: str = "",
        *,
        seconds: float = RANK_SECONDS,
        **request: Unpack[RequestFields],
    ) -> Ranking:
        """Like `rank`, without blocking the event loop."""
        event = EventMethods().rank_request(user_id, domain, candidates, instruction, **request)
        await asyncio.to_thread(self._rankings.follow, seconds)
        with self._rankings.expect(event) as ranking:
            self.send(event)
            try:
                async with asyncio.timeout(seconds):
                    return await asyncio.wrap_future(ranking)
            except TimeoutError:
                raise self._no_answer(seconds) from None

    def _no_answer(self, seconds: float) -> NoAnswer:
        why = f"{self.pending:,} events are not delivered" if self.pending else "is a `sager worker` running?"
        return NoAnswer(f"the RankRequest was not answered within {seconds:g} s: {why}")

    def send(self, event: EventT) -> EventT:
        """Send an app's event; wait only if the queue is full.

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
        if found[0] is None and all(item.is_id_alone for item in items):
            items = []  # ids of the catalogue
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

    async def __aenter__(self) -> Self:
        self.sender.wait_seconds = 0
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)
