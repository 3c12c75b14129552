"""The events that an app sends: checked, keyed and partitioned as the pipeline expects them."""

import concurrent.futures
import logging
from collections.abc import Iterable
from types import TracebackType
from typing import Self, TypeVar, Unpack, overload

from . import made_feedback, making
from .answers import Answers
from .checks import EventChecks
from .connection import Connection
from .exceptions import NoAnswer, NotDelivered
from .making import CandidateLike
from .schemas import Correction, Event, Key, Ranking, SkillDiff, encode, topic_of
from .sender import OnError, Sender
from .telling import CorrectionFields, Telling
from .understood import Understood, user_of_diff

FLUSH_SECONDS = 30.0
RANK_SECONDS = 10.0
MAX_EVENTS = 100_000
MAX_BYTES = 128 * 1024 * 1024
WAIT_SECONDS = 10.0
GIVE_UP_SECONDS = 300.0
KEYS = (Key.USER, Key.ITEM, Key.DOMAIN, Key.SUBJECT)
"""Records with these keys find their partition by the key. Others are written by the pipeline only."""

EventT = TypeVar("EventT", bound=Event)
logger = logging.getLogger("sager_client")


class EventProducer(Telling):
    """Produces an app's events, in the background. One per process, for its life; safe to share between threads.

    Making one needs no broker: events wait until there is one. Each method gives back the event that it sent.

        with EventProducer() as events:
            ranking = events.ranking("ann", "films", shown, "something to think about")
            events.selection(ranking, "arrival")

    Leaving the `with` block, or `close()`, waits until the broker has them all.

    Args:
        bootstrap: Kafka's bootstrap servers; by default what `SAGER_BOOTSTRAP` says.
        connection: all of how the deployment is reached, instead; by default what the environment says.
        on_error: called with each event that is given up, and why. It runs in the sending thread: be quick.
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
        self._connection = reached_by(bootstrap, connection)
        self.sender = Sender(self._connection, on_error, max_events, max_bytes, give_up_seconds)
        self.answers = Answers(self._connection, Ranking, bytes.decode, lambda ranking: ranking.ranking_id)
        self.understood = Answers(self._connection, SkillDiff, user_of_diff, lambda diff: diff.event_id)
        self._wait_seconds = wait_seconds
        self._checks = EventChecks()

    def rank(
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
        """Ask for a ranking, and wait for it: the candidates in the order that the pipeline gives them.

            best = events.rank("ann", "films", films, "something calm").candidates[0].item_id

        How well they suit is in `ranking.injected.fit`, if anything is known of it: the chance of each candidate
        (`chances`), that none suits (`nothing`; `suits` is False where better none is shown), the statements that it
        went by (`honoured`), and with `clarify` the one question that would tell most.

        The first call starts a thread that reads the topic `rankings` from then on.

        Args:
            user_id: for whom.
            domain: what the candidates are.
            candidates: at most 100 items, each once.
            instruction: what the user asked for, in their own words.
            request_id: names the ranking; by default a new one.
            seconds: how long to wait.
            clarify: whether the ranking may bring a question along; see `answer`.
            session_id: the session that it is part of: what was taken and said in it counts too.

        Raises:
            NoAnswer: there was none within `seconds`.
            BrokerUnreachable: the topic `rankings` cannot be read.
            NotDelivered: see `send`.
        """
        request = making.rank_request(
            user_id, domain, candidates, instruction, request_id, None, clarify=clarify, session_id=session_id
        )
        self.answers.start(seconds)
        with self.answers.to(user_id, request.request_id) as answer:
            self.send(request)
            try:
                return answer.result(seconds)
            except concurrent.futures.TimeoutError:
                raise self.no_answer(seconds) from None

    @overload
    def correct(
        self, user_id: str, domain: str, text: str = "", *, wait: None = None, **more: Unpack[CorrectionFields]
    ) -> Correction: ...

    @overload
    def correct(
        self, user_id: str, domain: str, text: str = "", *, wait: float, **more: Unpack[CorrectionFields]
    ) -> Understood: ...

    def correct(
        self,
        user_id: str,
        domain: str,
        text: str = "",
        *,
        wait: float | None = None,
        **more: Unpack[CorrectionFields],
    ) -> Correction | Understood:
        """Send a person's own words about their taste; with `wait`, return the worker's answer.

            answer = events.correct("ann", "films", "no horror, please", wait=10)
            answer.understood, answer.explanation

        The first call with `wait` starts a thread that reads the topic `skill-diffs` from then on: the Kafka user needs
        the role `answers`. Other arguments are described at `Telling.correct`.

        Args:
            user_id: the person.
            domain: the kind of items, such as `films`.
            text: the person's own words.
            wait: how long to wait for the answer, in seconds; None: only send.
            more: see `Telling.correct`.

        Raises:
            NoAnswer: there was none in time. Words that ask not to be remembered get none.
            BrokerUnreachable: the topic `skill-diffs` cannot be read.
            NotShown: it names an item that the person does not see.
            NotDelivered: see `send`.
        """
        if wait is None:
            return super().correct(user_id, domain, text, **more)
        correction = made_feedback.correction(user_id, domain, text, **more)
        self.understood.start(wait)
        with self.understood.to(user_id, correction.event_id) as answer:
            self.send(correction)
            try:
                return Understood.of(correction, answer.result(wait))
            except concurrent.futures.TimeoutError:
                raise self.no_answer(wait, "correction") from None

    def send(self, event: EventT) -> EventT:
        """Send any event that apps write, and give it back. It waits only where too many are waiting already.

        A valid event that teaches nothing is sent too: a warning is logged, once per kind.

        Raises:
            NotDelivered: too many events wait for the broker, which is told with the cause.
            Misconfigured: the broker's topics do not have the number of partitions that they have to have.
            TypeError: it is of a kind that only the pipeline writes.
            Closed: this producer is closed.
        """
        topic = topic_of(type(event))
        if topic.key not in KEYS:
            raise TypeError(f"only the pipeline writes {topic.base}")
        self._checks.check(event)
        self.sender.send(topic.base, topic.key_of(event), encode(event), event, self._wait_seconds)
        return event

    @property
    def pending(self) -> int:
        """How many events the broker has not acknowledged."""
        return self.sender.pending

    def flush(self, seconds: float = FLUSH_SECONDS) -> None:
        """Wait until the broker has all that was sent.

        Raises:
            NotDelivered: it took not all of it in time, or some was given up since the last call; the text says why.
            Misconfigured: see `send`.
        """
        self.sender.flush(seconds)

    def close(self, seconds: float = FLUSH_SECONDS) -> None:
        """Flush, then end the threads. What is not delivered by then is given up.

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
        self.answers.close()
        self.understood.close()

    def no_answer(self, seconds: float, request: str = "rank request") -> NoAnswer:
        """The error of a caller that has waited too long."""
        waiting = self.pending
        why = f"{waiting:,} events are not delivered" if waiting else "is a `sager worker` running?"
        return NoAnswer(f"the {request} was not answered within {seconds:g} s: {why}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except NotDelivered:
            if error is None:
                raise
            logger.exception("on the way out after another error")  # which is the one to be raised


def reached_by(bootstrap: str | None, connection: Connection | None) -> Connection:
    """The connection that is meant by the arguments of a constructor.

    Raises:
        TypeError: both are given.
    """
    if bootstrap is not None and connection is not None:
        raise TypeError("give bootstrap= or connection=, not both: a connection has its own")
    return connection or Connection(bootstrap=bootstrap or "")
