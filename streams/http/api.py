"""The state that the API's routes share: the deployment, its data, and the ways to read and to send."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, suppress
from typing import Annotated, TypeVar, cast

from confluent_kafka import KafkaException
from fastapi import Depends, Request

from schemas import CardCommand, CardDiff, Correction, Event, ForgetRequest, Receipt, SkillCommand, SkillDiff
from streams.exceptions import BrokerUnreachable
from streams.http import limits
from streams.http.limits import Gate, Limiter
from streams.http.problems import RETRY, Problem
from streams.http.replies import EventSender, ReplyT, ReplyWaiter, outgoing_record, user_of
from streams.http.snapshot import Snapshot
from streams.http.tokens import Token
from streams.http.topic_cache import TopicCache
from streams.kafka.scanner import NoSuchTopic
from streams.pseudonyms import ranking_key_if_any
from streams.settings import Settings

OUTDATED_SECONDS = 10.0  # how often an outdated snapshot is closed: there may be no request for hours

_Result = TypeVar("_Result")


class BoundedThreadPool:
    """A thread pool whose work, running and queued, is limited."""

    def __init__(self, name: str, threads: int, queued: int) -> None:
        self._pool = ThreadPoolExecutor(threads, name)
        self._limiter = Limiter(threads + queued)

    async def run(self, token: Token, do: Callable[[], _Result]) -> _Result:
        """Return the result of `do`, run in a thread."""
        place = ExitStack()
        place.enter_context(self._limiter.hold(token.sha256))
        work = asyncio.wrap_future(self._pool.submit(do))
        # The thread gives the place back, not its caller, which may be cancelled earlier.
        work.add_done_callback(lambda _: place.close())
        return await asyncio.shield(work)

    def close(self) -> None:
        """Cancel queued work, without waiting for what runs."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Api:
    """The state that routes share; `running` starts its connections to Kafka.

    `snapshot` blocks, so use it in `read`. `ranking_key` is the secret that seals rankings, if this process has one.
    """

    def __init__(self, settings: Settings, gate: Gate) -> None:
        self.settings, self.gate = settings, gate
        self.snapshot = Snapshot(settings)
        self.replies = ReplyWaiter(settings.partitions)
        self.ranking_key = ranking_key_if_any(settings)
        self.cache = TopicCache(settings, self.replies)
        self.sender = EventSender(settings)
        self._reading = BoundedThreadPool("read", limits.READ_THREADS, limits.QUEUED_READS)
        self._searching = BoundedThreadPool("search", limits.SEARCH_THREADS, limits.QUEUED_SEARCHES)
        self._waiting = Limiter(limits.WAITING_CALLS)
        self._streams = Limiter(max(1, settings.http_connections // 2))

    @asynccontextmanager
    async def running(self, *, follows: bool = True) -> AsyncIterator[None]:
        """Run the work between requests; without `follows` topics are not read."""
        if follows:
            self.cache.start()
        task = asyncio.create_task(self._close_outdated_snapshots())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            self.cache.is_closing = True
            await asyncio.to_thread(self.cache.stop)
            await asyncio.to_thread(self.sender.close)
            self._reading.close()
            self._searching.close()
            self.snapshot.close()

    async def read(self, token: Token, do: Callable[[], _Result]) -> _Result:
        """Return the result of `do`, which reads and may block, run in one of a few threads."""
        return await self._reading.run(token, do)

    async def search(self, token: Token, do: Callable[[], _Result]) -> _Result:
        """Return the result of `do`, which reads whole topics or imports, run in one of a few threads."""
        try:
            return await self._searching.run(token, do)
        except (KafkaException, NoSuchTopic, BrokerUnreachable) as error:
            raise Problem(503, "Kafka did not let this server read all that it needs", RETRY) from error

    async def send_and_wait(
        self, token: Token, event: Event, kind: type[ReplyT], is_answer: Callable[[ReplyT], bool]
    ) -> ReplyT | None:
        """Send an event of a user, and return a worker's answer if there is one within `http_wait_seconds`."""
        self.cache.check_ready()
        # A rank request is answered under its own id. Records without the id are not decoded.
        hint = getattr(event, "request_id", event.event_id)
        waiting = self.replies.expect(kind, user_of(event) or "", is_answer, hint)
        with self._waiting.hold(token.sha256), waiting as answer:
            await self.sender.send([outgoing_record(event, self.settings)])
            return await answer.within(self.settings.http_wait_seconds)

    async def change_skill(self, token: Token, command: SkillCommand | Correction) -> SkillDiff | None:
        """Send a command or a correction, and return a worker's diff; see `send_and_wait`."""
        asked = (command.event_id, command.user_id, command.domain)
        return await self.send_and_wait(
            token, command, SkillDiff, lambda diff: (diff.event_id, diff.user_id, diff.domain) == asked
        )

    async def change_card(self, token: Token, command: CardCommand) -> CardDiff | None:
        """Send a command on a card, and return a worker's diff; see `send_and_wait`."""
        asked = (command.event_id, command.user_id)
        return await self.send_and_wait(token, command, CardDiff, lambda diff: (diff.event_id, diff.user_id) == asked)

    async def forget(self, token: Token, request: ForgetRequest) -> Receipt | None:
        """Send a request to forget, and return a worker's receipt; see `send_and_wait`."""

        def is_done(receipt: Receipt) -> bool:
            return any(scope.done and scope.event_id == request.event_id for scope in receipt.scopes)

        return await self.send_and_wait(token, request, Receipt, is_done)

    def streaming(self, token: Token) -> AbstractContextManager[None]:
        """Return a place for a stream, to hold."""
        self.cache.check_ready()
        return self._streams.hold(token.sha256)

    async def _close_outdated_snapshots(self) -> None:
        while True:
            await asyncio.sleep(OUTDATED_SECONDS)
            await asyncio.to_thread(self.snapshot.close_outdated)


async def _api_of(request: Request) -> Api:
    return cast("Api", request.app.state.api)


ApiParam = Annotated[Api, Depends(_api_of)]
