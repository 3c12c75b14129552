"""State shared by all routes: settings, caches, threads and producer."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, TypeVar, cast

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from confluent_kafka import KafkaException
from duckdb import DuckDBPyConnection
from fastapi import Depends, Request

from schemas import CardCommand, Correction, Event, ForgetRequest, Receipt, SkillCommand
from streams.analytics import read
from streams.exceptions import KafkaUnreachable
from streams.http import limits
from streams.http.limits import Gate, Limiter
from streams.http.problems import RETRY, Problem, checked_fields
from streams.http.replies import EventSender, ReplyT, ReplyWaiter, user_of
from streams.http.tokens import Token
from streams.http.topic_cache import TopicCache
from streams.kafka.scanner import NoSuchTopic
from streams.pseudonyms import find_ranking_key
from streams.rights.previews import forget_request
from streams.settings import Settings

QUERY_MS, QUERY_MEMORY = 10_000, "512MB"  # one query's limits

EventT = TypeVar("EventT", bound=Event)
_Result = TypeVar("_Result")


class BoundedThreadPool:
    """Threads with a limit on running and queued work."""

    def __init__(self, threads: int, queued: int) -> None:
        self._threads = CapacityLimiter(threads)
        self._slots = Limiter(threads + queued)

    async def run(self, token: Token, do: Callable[[], _Result]) -> _Result:
        """Run a blocking function in a thread."""
        # Only a shutdown cancels requests, so no slot is freed while its work still runs.
        with self._slots.hold(token.sha256):
            return await run_sync(do, limiter=self._threads)


def new_event(kind: type[EventT], fields: Mapping[str, Any]) -> EventT:
    """Return a new event with these fields; invalid ones are a problem."""
    envelope = {"event_id": uuid.uuid4().hex, "occurred_at": datetime.now(UTC)}
    with checked_fields():
        return kind.model_validate({**fields, **envelope}, extra="forbid")


def query_snapshot(settings: Settings, do: Callable[[DuckDBPyConnection], _Result]) -> _Result:
    """Query the newest snapshot; raise `MaterializerError` if it is unusable."""
    # Opened for each query, within some milliseconds: an open file would outlive its replacement, with erased users.
    with read.connect(settings) as con:
        con.execute(f"SET memory_limit = '{QUERY_MEMORY}'")  # nothing is spilled to disk
        con.execute(f"SET max_execution_time = {QUERY_MS}")
        return do(con)


class Api:
    """The shared state; `running` starts its connections to Kafka."""

    def __init__(self, settings: Settings, gate: Gate) -> None:
        self.settings, self.gate = settings, gate
        self.replies = ReplyWaiter(settings.partitions)
        # The secret that seals rankings, if configured.
        self.ranking_key = find_ranking_key(settings)
        self.cache = TopicCache(settings, self.replies)
        self.sender = EventSender(settings)
        self._reading = BoundedThreadPool(limits.READ_THREADS, limits.QUEUED_READS)
        self._searching = BoundedThreadPool(limits.SEARCH_THREADS, limits.QUEUED_SEARCHES)
        self._waiting = Limiter(limits.WAITING_CALLS)
        self._streams = Limiter(max(1, settings.http_connections // 2))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follow topics."""
        self.cache.start()
        try:
            yield
        finally:
            self.cache.is_closing = True
            await asyncio.to_thread(self.cache.stop)
            await asyncio.to_thread(self.sender.close)

    async def read(self, token: Token, do: Callable[[], _Result]) -> _Result:
        """Run a blocking function in the reading pool."""
        return await self._reading.run(token, do)

    async def query(self, token: Token, do: Callable[[DuckDBPyConnection], _Result]) -> _Result:
        """Run a query of the newest snapshot."""
        return await self._reading.run(token, partial(query_snapshot, self.settings, do))

    async def search(self, token: Token, do: Callable[[], _Result]) -> _Result:
        """Run a scan of whole topics in the searching pool."""
        try:
            return await self._searching.run(token, do)
        except (KafkaException, NoSuchTopic, KafkaUnreachable) as error:
            raise Problem(503, "Kafka did not let this server read all that it needs", RETRY) from error

    async def send_and_wait(
        self, token: Token, event: Event, kind: type[ReplyT], is_answer: Callable[[ReplyT], bool]
    ) -> ReplyT | None:
        """Send a user's event; return the worker's answer, or None after `http_wait_seconds`."""
        self.cache.check_ready()
        # Rankings repeat the request id instead of the event id.
        hint = getattr(event, "request_id", event.event_id)
        waiting = self.replies.expect(kind, user_of(event) or "", is_answer, hint)
        with self._waiting.hold(token.sha256), waiting as answer:
            await self.sender.send([event])
            with suppress(TimeoutError):
                async with asyncio.timeout(self.settings.http_wait_seconds):
                    return await asyncio.wrap_future(answer)
            return None

    async def change(
        self, token: Token, command: SkillCommand | Correction | CardCommand, kind: type[ReplyT]
    ) -> ReplyT | None:
        """Send a change of a skill or card; return its diff."""
        asked = (command.event_id, command.user_id)
        return await self.send_and_wait(token, command, kind, lambda diff: (diff.event_id, user_of(diff)) == asked)

    async def forget(
        self, token: Token, user: str, domain: str | None, line: str | None
    ) -> tuple[ForgetRequest, Receipt | None]:
        """Send an erasure request; return it and its receipt, as `send_and_wait` does."""
        with checked_fields():
            request = forget_request(user, domain, line, token.name, uuid.uuid4().hex, datetime.now(UTC))
        receipt = await self.send_and_wait(token, request, Receipt, lambda found: found.has_done(request.event_id))
        return request, receipt

    def streaming(self, token: Token) -> AbstractContextManager[None]:
        """Reserve a slot for a stream while the context is open."""
        self.cache.check_ready()
        return self._streams.hold(token.sha256)


async def _api_of(request: Request) -> Api:
    return cast("Api", request.app.state.api)


ApiParam = Annotated[Api, Depends(_api_of)]
