"""The events that an app sends: checked, keyed and partitioned as the pipeline expects them."""

import concurrent.futures
import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self, TypeVar

from . import making
from .answers import Answers
from .connection import Connection
from .exceptions import NoAnswer, NotDelivered
from .making import CandidateLike
from .schemas import (
    Action,
    Attribute,
    Event,
    ForgetRequest,
    Interaction,
    Item,
    Key,
    Ranking,
    RankRequest,
    Selection,
    SkillCommand,
    SlimSkill,
    Stated,
    Tier,
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
KEYS = (Key.USER, Key.ITEM, Key.DOMAIN, Key.SUBJECT)
"""Records with these keys find their partition by the key. Others are written by the pipeline only."""

EventT = TypeVar("EventT", bound=Event)
logger = logging.getLogger("sager_client")


class EventProducer:
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
        self.answers = Answers(self._connection)
        self._wait_seconds = wait_seconds

    def item(self, domain: str, item: CandidateLike, *, at: datetime | None = None) -> Item:
        """Add an item to the catalogue, or replace it."""
        return self.send(making.item(domain, item, at))

    def interaction(
        self, user_id: str, domain: str, item: CandidateLike, *, at: datetime | None = None, event_id: str | None = None
    ) -> Interaction:
        """Tell of a past positive event, for the statistical prior."""
        return self.send(making.interaction(user_id, domain, item, at, event_id))

    def rank_request(
        self,
        user_id: str,
        domain: str,
        candidates: Iterable[CandidateLike],
        instruction: str = "",
        *,
        request_id: str | None = None,
        at: datetime | None = None,
    ) -> RankRequest:
        """Ask for a ranking, without waiting; the answer on `rankings` has this `request_id` as `ranking_id`."""
        return self.send(making.rank_request(user_id, domain, candidates, instruction, request_id, at))

    def rank(
        self,
        user_id: str,
        domain: str,
        candidates: Iterable[CandidateLike],
        instruction: str = "",
        *,
        request_id: str | None = None,
        seconds: float = RANK_SECONDS,
    ) -> Ranking:
        """Ask for a ranking, and wait for it: the candidates in the order that the pipeline gives them.

            best = events.rank("ann", "films", films, "something calm").candidates[0].item_id

        The first call starts a thread that reads the topic `rankings` from then on.

        Raises:
            NoAnswer: there was none within `seconds`.
            BrokerUnreachable: the topic `rankings` cannot be read.
            NotDelivered: see `send`.
        """
        request = making.rank_request(user_id, domain, candidates, instruction, request_id, None)
        self.answers.start(seconds)
        with self.answers.to(request) as answer:
            self.send(request)
            try:
                return answer.result(seconds)
            except concurrent.futures.TimeoutError:
                raise self.no_answer(seconds) from None

    def ranking(
        self,
        user_id: str,
        domain: str,
        candidates: Iterable[CandidateLike],
        instruction: str = "",
        *,
        ranking_id: str | None = None,
        skill: SlimSkill | None = None,
        arm: str | None = None,
        at: datetime | None = None,
    ) -> Ranking:
        """Tell what the user was shown, first place first, where the app ranks by itself.

        Args:
            user_id: who was shown it.
            domain: what the items are, such as `films`.
            candidates: at most 100 items, each once.
            instruction: what the user asked for, in their own words.
            ranking_id: unique per user; by default a new one.
            skill: the slim skill that had its say in the order: then choices with and without can be compared.
            arm: the arm of an experiment of yours, by which metrics and DuckDB compare.
            at: when; by default now.
        """
        return self.send(making.ranking(user_id, domain, candidates, instruction, ranking_id, skill, arm, at))

    def selection(
        self,
        ranking: Ranking | RankRequest | None = None,
        item_id: str | None = None,
        *,
        user_id: str | None = None,
        domain: str | None = None,
        ranking_id: str | None = None,
        skill_version: int | None = None,
        at: datetime | None = None,
        event_id: str | None = None,
    ) -> Selection:
        """Tell which item the user took from a ranking.

            events.selection(ranking, "arrival")
            events.selection(user_id="ann", ranking_id="r-17", item_id="arrival")  # in another web request

        Args:
            ranking: what was shown, or the request for it.
            item_id: what was taken.
            user_id: whose ranking it is, where you have it no more.
            domain: of that ranking; it may be told, and is not needed: a ranking's id is unique per user.
            ranking_id: which ranking it is.
            skill_version: the slim skill's version that the app had, used or not.
            at: when; by default now.
            event_id: by default a new one.

        Raises:
            NotShown: the ranking has no such item.
        """
        return self.send(making.selection(ranking, item_id, user_id, ranking_id, skill_version, at, event_id))

    def forget(
        self,
        user_id: str,
        domain: str | None = None,
        attribute_id: str | None = None,
        *,
        actor: str,
        at: datetime | None = None,
    ) -> ForgetRequest:
        """Ask that a person be forgotten: all of them, one domain, or one line of it.

            events.forget("ann", actor="settings page")

        Args:
            user_id: who.
            domain: only this one.
            attribute_id: only this line of the domain, such as `preference:genre:crime`.
            actor: who asks for it; it stands in the receipt.
            at: when; by default now.
        """
        return self.send(making.forget(user_id, domain, attribute_id, actor, at))

    def command(
        self,
        user_id: str,
        domain: str,
        action: Action | str,
        *,
        actor: str,
        attribute_id: str | None = None,
        line: Stated | None = None,
        value: str | None = None,
        tier: Tier | None = None,
        to_version: int | None = None,
        lines: Sequence[Attribute] | None = None,
        reason: str = "",
        at: datetime | None = None,
    ) -> SkillCommand:
        """Change a skill on behalf of a person.

            events.command("ann", "films", "pin", attribute_id="preference:genre:sci-fi", actor="ann")

        Args:
            user_id: whose skill.
            domain: which one.
            action: what to do with it.
            actor: who does it.
            attribute_id: the line that is meant, where one is.
            line: add: the new line.
            value: reword: what the line is to say.
            tier: set-tier: how sure to be of the line.
            to_version: roll-back: the version to go back to.
            lines: roll-back, import: the lines that are to stand.
            reason: why, for the log.
            at: when; by default now.
        """
        needed = {
            "attribute_id": attribute_id,
            "line": line,
            "value": value,
            "tier": tier,
            "to_version": to_version,
            "lines": lines,
        }
        return self.send(making.command(user_id, domain, action, actor, reason, at, needed))

    def send(self, event: EventT) -> EventT:
        """Send any event that apps write, and give it back. It waits only where too many are waiting already.

        Raises:
            NotDelivered: too many events wait for the broker, which is told with the cause.
            Misconfigured: the broker's topics do not have the number of partitions that they have to have.
            TypeError: it is of a kind that only the pipeline writes.
            Closed: this producer is closed.
        """
        topic = topic_of(type(event))
        if topic.key not in KEYS:
            raise TypeError(f"only the pipeline writes {topic.base}")
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

    def no_answer(self, seconds: float) -> NoAnswer:
        """The error of who has waited too long for a ranking."""
        waiting = self.pending
        why = f"{waiting:,} events are not delivered" if waiting else "is a `sager worker` running?"
        return NoAnswer(f"the rank request was not answered within {seconds:g} s: {why}")

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
