"""The producer of an app's events: checked, keyed and partitioned as the pipeline expects them."""

import concurrent.futures
import json
import logging
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar, Unpack, overload

from .connection import Connection
from .errors import NoAnswer, NotDelivered
from .follower import Answers
from .methods import CandidateLike, CorrectionFields, EventMethods, correction
from .schemas import (
    Candidate,
    Correction,
    Event,
    Feedback,
    Key,
    Ranking,
    Said,
    Signal,
    SkillDiff,
    Statement,
    encode,
    topic_of,
)
from .sender import OnError, Sender

FLUSH_SECONDS = 30.0
RANK_SECONDS = 10.0
MAX_EVENTS = 100_000
MAX_BYTES = 128 * 1024 * 1024
WAIT_SECONDS = 10.0
GIVE_UP_SECONDS = 300.0
MAX_WARNINGS = 1_000
"""An app may invent signal names without end."""
KEYS = (Key.USER, Key.ITEM, Key.DOMAIN, Key.SUBJECT)
"""Records with these keys find their partition by the key. Others are written by the pipeline only."""

EventT = TypeVar("EventT", bound=Event)
logger = logging.getLogger("sager_client")


@dataclass(frozen=True, slots=True)
class Understood:
    """The worker's answer to a correction.

    Attributes:
        correction: the event that was sent.
        understood: False if the correction changed nothing; the person's log has it all the same.
        statements: the statements that it added to the skill.
        why: the reason code where nothing was understood, such as `unknown-name`; else empty.
        explanation: for the person: the reason, examples that would be understood, the effect of words that state no
            preference, and private data that was left out.
        not_kept: kinds of private data that were left out, such as `health`.
        version: the skill's version afterwards.
    """

    correction: Correction
    understood: bool
    statements: tuple[Statement, ...]
    why: str
    explanation: str
    not_kept: tuple[str, ...]
    version: int

    @classmethod
    def of(cls, correction: Correction, diff: SkillDiff) -> Self:
        """Read the answer from the version that the correction made."""
        heard = diff.heard
        stated = tuple(
            each.statement for each in diff.stated if each.kind is Said.STATED and each.statement is not None
        )
        if heard is None:
            return cls(correction, True, stated, "", "", (), diff.version)
        why = "" if heard.why is None else heard.why.value
        return cls(correction, heard.understood, stated, why, heard.explanation, heard.not_kept, diff.version)


def _user_of_diff(key: bytes) -> str:
    """Return the user in the key of a version; empty for another record's key."""
    try:
        parts = json.loads(key)
    except ValueError:
        return ""
    return str(parts[0]) if isinstance(parts, list) and parts else ""


class EventProducer(EventMethods):
    """Produces an app's events in the background. One per process, for its life; safe to share between threads.

    Making one needs no broker: events wait until there is one. Each method returns the event that it sent.

        with EventProducer() as events:
            ranking = events.ranking("ann", "films", shown, "something to think about")
            events.selection(ranking, "arrival")

    Leaving the `with` block, or `close()`, waits until the broker has acknowledged all events.

    Args:
        bootstrap: Kafka's bootstrap servers; by default `SAGER_BOOTSTRAP`.
        connection: all settings of the connection, instead; by default those of the environment.
        on_error: called with each event that is given up, and why. It runs in the sending thread: be quick.
        max_events: how many events wait for the broker at most.
        max_bytes: how many bytes they have at most.
        wait_seconds: how long a call waits for room when so many are waiting; then it raises `NotDelivered`.
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
        self._connection = connection_of(bootstrap, connection)
        self.sender = Sender(self._connection, on_error, max_events, max_bytes, give_up_seconds)
        self.answers = Answers(self._connection, Ranking, bytes.decode, lambda ranking: ranking.ranking_id)
        self.understood = Answers(self._connection, SkillDiff, _user_of_diff, lambda diff: diff.event_id)
        self._wait_seconds = wait_seconds
        self._warned: set[str] = set()

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
        """Request a ranking, and wait for it: the candidates in the order that the pipeline gives them.

            best = events.rank("ann", "films", films, "something calm").candidates[0].item_id

        `ranking.injected.fit`, if anything is known, says how well they suit: the chance of each candidate (`chances`),
        that none suits (`nothing`; `suits` is False where better none is shown), the statements that it followed
        (`honoured`), and with `clarify` the most useful question.

        The first call starts a thread that reads the topic `rankings` from then on.

        Args:
            user_id: the user.
            domain: the kind of items, such as `films`.
            candidates: at most 100 items, each once.
            instruction: the user's request, in their own words.
            request_id: names the ranking; by default a new one.
            seconds: how long to wait.
            clarify: True if the ranking may bring a question along; see `answer`.
            session_id: the session that it belongs to: its choices and statements count too.

        Raises:
            NoAnswer: there was none within `seconds`.
            BrokerUnreachable: the topic `rankings` cannot be read.
            NotDelivered: see `send`.
        """
        request_id = request_id or uuid.uuid4().hex
        self.answers.follow().wait(seconds)
        with self.answers.to(user_id, request_id) as answer:
            self.rank_request(
                user_id, domain, candidates, instruction, request_id=request_id, clarify=clarify, session_id=session_id
            )
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

            events.correct("ann", "films", "no horror, please")
            events.correct("ann", "films", "rather something like the second", ranking=ranking)
            events.correct("ann", "films", says=[{"stance": "avoids", "dimension": "genre", "value": "horror"}])
            answer = events.correct("ann", "films", "no horror, please", wait=10)
            answer.understood, answer.explanation

        The first call with `wait` starts a thread that reads the topic `skill-diffs` from then on: the Kafka user needs
        the role `answers`.

        Args:
            user_id: the person.
            domain: the kind of items, such as `films`.
            text: the person's own words. With `says`, these are kept and not read.
            wait: how long to wait for the answer, in seconds; None: only send.
            more: see `CorrectionFields`.

        Raises:
            NoAnswer: there was none in time. Words that ask not to be remembered get none.
            BrokerUnreachable: the topic `skill-diffs` cannot be read.
            NotShown: it names an item that the person does not see.
            NotDelivered: see `send`.
        """
        event = correction(user_id, domain, text, **more)
        if wait is None:
            return self.send(event)
        self.understood.follow().wait(wait)
        with self.understood.to(user_id, event.event_id) as answer:
            self.send(event)
            try:
                return Understood.of(event, answer.result(wait))
            except concurrent.futures.TimeoutError:
                raise self.no_answer(wait, "correction") from None

    def send(self, event: EventT) -> EventT:
        """Send any event that apps write, and return it. It waits only if too many events are waiting already.

        A valid event that teaches nothing is sent too: a warning is logged, once per kind.

        Raises:
            NotDelivered: too many events wait for the broker; the text names the cause.
            Misconfigured: the broker's topics have a wrong number of partitions.
            TypeError: only the pipeline writes events of this kind.
            Closed: this producer is closed.
        """
        topic = topic_of(type(event))
        if topic.key not in KEYS:
            raise TypeError(f"only the pipeline writes {topic.base}")
        self._warn_if_doubtful(event)
        self.sender.send(topic.base, topic.key_of(event), encode(event), event, self._wait_seconds)
        return event

    def _warn_if_doubtful(self, event: Event) -> None:
        """Log what keeps a valid event from teaching, once per kind; `POST /v1/events/lint` runs the steps."""
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
            NotDelivered: it has not in time, or some were given up since the last call; the text says why.
            Misconfigured: see `send`.
        """
        self.sender.flush(seconds)

    def close(self, seconds: float = FLUSH_SECONDS) -> None:
        """Flush, then end the threads. Events that are not delivered by then are given up.

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
        """Return the error of a caller that has waited too long."""
        why = f"{self.pending:,} events are not delivered" if self.pending else "is a `sager worker` running?"
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
            logger.exception("events were not delivered")  # the other error is the one to be raised


def connection_of(bootstrap: str | None, connection: Connection | None) -> Connection:
    """Return the connection that the arguments of a constructor name.

    Raises:
        TypeError: both are given.
    """
    if bootstrap is not None and connection is not None:
        raise TypeError("give bootstrap= or connection=, not both: a connection has its own")
    return connection or Connection(bootstrap=bootstrap or "")
