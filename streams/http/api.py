"""The state that the API's routes share: the deployment, its data, and the ways to read and to send."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from typing import Annotated, NamedTuple, TypeVar, cast

from confluent_kafka import KafkaException
from fastapi import Depends, Request

from schemas import CardCommand, CardDiff, Correction, Event, ForgetRequest, Receipt, SkillCommand, SkillDiff
from streams.exceptions import BrokerUnreachable
from streams.http import metrics
from streams.http.answers import Answers, AnswerT, Sender, user_of
from streams.http.confirmations import Confirmations
from streams.http.gate import Gate, network_of
from streams.http.live import Live
from streams.http.problems import RETRY, Problem
from streams.http.slims import Slims
from streams.http.snapshot import Snapshot
from streams.http.tokens import Token
from streams.kafka.scanner import NoSuchTopic
from streams.pseudonyms import ranking_key_if_any
from streams.settings import Settings

WAITING = 512
"""Calls at once that wait for a worker's answer."""
OF_A_PERSON = 4
"""One person takes at most a quarter of the free places; one token as many as stay free."""
BUSY = {"Retry-After": "1"}
OUTDATED_SECONDS = 10.0
"""How often an outdated snapshot is closed: there may be no request for hours."""

_Result = TypeVar("_Result")


class Quota(NamedTuple):
    """The part of a limiter's places that one token, person or address may hold, but always one place."""

    by: str  # a metric label
    key: str
    part: int = 1  # at most one `part`th of the free places
    most: int = 1_000_000


class Limiter:
    """Bounds what is in progress: a used-up quota answers 429, no free place 503.

    Quotas shrink as places run out: a client that takes all it can leaves as many free as it holds, for others.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._held = Counter[Quota]()

    @contextmanager
    def hold(self, *quotas: Quota) -> Iterator[None]:
        """Hold a place."""
        if not self._free:
            raise Problem(503, "the server is busy: try again", BUSY)
        for quota in quotas:
            if self._held[quota] >= max(1, min(self._free // quota.part, quota.most)):
                metrics.RATE_LIMITED.labels(quota.by).inc()
                raise Problem(429, "too many requests or streams at once: wait for earlier answers", BUSY)
        self._free -= 1
        self._held.update(quotas)
        try:
            yield
        finally:
            self._free += 1
            self._held -= Counter(quotas)  # without those that hold none any more


class Threads:
    """A thread pool whose work, running and queued, is limited."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, name)
        self._limiter = Limiter(threads + waiting)

    async def run(self, do: Callable[[], _Result], *quotas: Quota) -> _Result:
        """Return the result of `do`, run in a thread."""
        place = ExitStack()
        place.enter_context(self._limiter.hold(*quotas))
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
        self.answers = Answers(settings.partitions)
        self.ranking_key = ranking_key_if_any(settings)
        self.live = Live(settings, self.answers)
        self.slims = Slims(settings, self.live)
        self.sender = Sender(settings)
        self.confirmations = Confirmations(settings)
        self._reading = Threads("read", 4, 64)
        self._importing = Threads("import", 4, 0)  # each waits for workers
        self._searching = Threads("search", 2, 8)  # each reads whole topics, for seconds or minutes
        self._waiting = Limiter(WAITING)
        self._streams = Limiter(max(1, settings.http_connections // 2))

    @asynccontextmanager
    async def running(self, *, follows: bool = True) -> AsyncIterator[None]:
        """Run the work between requests; without `follows` topics are not read."""
        self.slims.begin()
        if follows:
            self.live.start()
        task = asyncio.create_task(self._close_outdated_snapshots())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            self.slims.end()
            await asyncio.to_thread(self.live.stop)
            await asyncio.to_thread(self.sender.close)
            for threads in (self._reading, self._importing, self._searching):
                threads.close()
            self.snapshot.close()

    async def read(self, token: Token, do: Callable[[], _Result]) -> _Result:
        """Return the result of `do`, which reads and may block, run in one of a few threads."""
        return await self._reading.run(do, _of(token))

    async def search(self, token: Token, do: Callable[[], _Result]) -> _Result:
        """Return the result of `do`, which reads whole topics, run in one of two threads."""
        try:
            return await self._searching.run(do, _of(token))
        except (KafkaException, NoSuchTopic, BrokerUnreachable) as error:
            raise Problem(503, "Kafka did not let this server read all that it needs", RETRY) from error

    async def import_(self, token: Token, user: str, do: Callable[[], _Result]) -> _Result:
        """Return the result of `do`, which imports something of this user's and waits for workers."""
        return await self._importing.run(do, _of(token), Quota("person-share", user, OF_A_PERSON))

    async def ask(
        self, token: Token, event: Event, kind: type[AnswerT], is_answer: Callable[[AnswerT], bool]
    ) -> AnswerT | None:
        """Send an event of a user and return a worker's answer; None if there is none within `http_wait_seconds`.

        `is_answer` runs in another thread.
        """
        self.live.check_ready()
        with self._waiting.hold(_of(token), Quota("person-share", user_of(event) or "", OF_A_PERSON)):
            return await self._answer(event, kind, is_answer)

    async def _answer(self, event: Event, kind: type[AnswerT], is_answer: Callable[[AnswerT], bool]) -> AnswerT | None:
        # A rank request is answered under its own id. Records without the id are not decoded.
        hint = getattr(event, "request_id", event.event_id)
        with self.answers.expect(kind, user_of(event) or "", is_answer, hint) as answer:
            await self.sender.send([self.sender.outgoing(event)])
            return await answer.within(self.settings.http_wait_seconds)

    async def change_skill(self, token: Token, command: SkillCommand | Correction) -> SkillDiff | None:
        """Send a command or a correction, and return a worker's diff; see `ask`."""
        asked = (command.event_id, command.user_id, command.domain)
        return await self.ask(
            token, command, SkillDiff, lambda diff: (diff.event_id, diff.user_id, diff.domain) == asked
        )

    async def change_card(self, token: Token, command: CardCommand) -> CardDiff | None:
        """Send a command on a card, and return a worker's diff; see `ask`."""
        asked = (command.event_id, command.user_id)
        return await self.ask(token, command, CardDiff, lambda diff: (diff.event_id, diff.user_id) == asked)

    async def forget(self, token: Token, request: ForgetRequest) -> Receipt | None:
        """Send a request to forget, and return a worker's receipt; see `ask`."""

        def is_done(receipt: Receipt) -> bool:
            return any(scope.done and scope.event_id == request.event_id for scope in receipt.scopes)

        return await self.ask(token, request, Receipt, is_done)

    @contextmanager
    def streaming(self, token: Token, address: str) -> Iterator[None]:
        """Hold a place for a stream: of one token at most a quarter of an address's connections, of all half."""
        self.live.check_ready()
        network, most = network_of(address), self.settings.http_connections_per_address
        with self._streams.hold(
            _of(token),
            Quota("token-share", f"{token.sha256} {network}", most=most // 4),
            Quota("address-share", network, most=most // 2),
        ):
            yield

    async def _close_outdated_snapshots(self) -> None:
        while True:
            await asyncio.sleep(OUTDATED_SECONDS)
            await asyncio.to_thread(self.snapshot.close_outdated)


def _of(token: Token) -> Quota:
    return Quota("token-share", token.sha256)


async def _api_of(request: Request) -> Api:
    return cast("Api", request.app.state.api)


TheApi = Annotated[Api, Depends(_api_of)]
