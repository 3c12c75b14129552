"""What the API's routes have in common: the deployment, what is known, and the ways to ask and to send."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from typing import Annotated, TypeVar, cast

from confluent_kafka import KafkaException
from fastapi import Depends, Request

from streams.exceptions import BrokerUnreachable
from streams.http.answers import TOPICS, Answers
from streams.http.commands import Changes
from streams.http.confirmations import Confirmations
from streams.http.gate import Gate
from streams.http.limits import network_of
from streams.http.live import Live
from streams.http.problems import Problem
from streams.http.sender import RETRY, Sender
from streams.http.slims import STARTING, Slims
from streams.http.snapshot import Snapshot
from streams.http.tokens import Token
from streams.http.work import Places, Share, Threads
from streams.kafka.scanner import NoSuchTopic
from streams.pseudonyms import ranking_key_if_any
from streams.settings import Settings

READING, READING_WAITING = 4, 64
CHANGING, CHANGING_WAITING = 16, 0
"""Threads that carry out commands; each waits for a worker, with its own consumer. None may queue behind them, because
whoever waits longest for a worker would keep all others waiting."""
SEARCHING, SEARCHING_WAITING = 2, 8
"""Threads that read whole topics, for seconds or minutes."""
WAITING = 512
"""How many may wait for a worker's answer without a thread."""
OF_A_TOKEN, OF_A_PERSON = 1, 4
"""At most half of all places are a token's, and a fifth a person's: see `Share`."""
STREAMS_OF_ALL, STREAMS_OF_AN_ADDRESS, STREAMS_OF_A_TOKEN = 2, 2, 4
"""Divisors of the connections that may be streams, since streams last for days: half of all connections, half of those
of an address, and for one token a quarter of those of an address."""
OUTDATED_SECONDS = 10.0
"""How often an outdated snapshot is closed."""

_Result = TypeVar("_Result")


class Api:
    """The parts that routes share. What needs Kafka is started by `running`.

    Args:
        settings: the deployment.
        gate: authenticates requests and limits their rate.

    Attributes:
        settings, gate: as given.
        snapshot: the newest DuckDB snapshot; blocks, so read it by `read`.
        live: slim skills and skills as they are now.
        slims: slim skills for a request, and streams of them.
        ranking_key: the secret that seals rankings; None where this process has none.
        answers: waits for what workers answer.
        sender: sends events.
        changes: sends commands and waits for their results; blocks, so use it by `change`.
        confirmations: the second step of what cannot be taken back.
    """

    def __init__(self, settings: Settings, gate: Gate) -> None:
        self.settings, self.gate = settings, gate
        self.snapshot = Snapshot(settings)
        self.answers = Answers(settings.partitions)
        self.ranking_key = ranking_key_if_any(settings)
        self.live = Live(settings, dict.fromkeys(TOPICS, self.answers.hear))
        self.slims = Slims(settings, self.live)
        self.sender = Sender(settings)
        self.changes = Changes(settings)
        self.confirmations = Confirmations(settings)
        self._reading = Threads("read", READING, READING_WAITING)
        self._changing = Threads("change", CHANGING, CHANGING_WAITING)
        self._searching = Threads("search", SEARCHING, SEARCHING_WAITING)
        self._waiting = Places(WAITING)
        self._streams = Places(max(1, settings.http_connections // STREAMS_OF_ALL))

    @asynccontextmanager
    async def running(self, *, follows: bool = True) -> AsyncIterator[None]:
        """Runs what goes on between requests.

        Args:
            follows: whether topics are followed.
        """
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
            for threads in (self._reading, self._changing, self._searching):
                threads.close()
            self.snapshot.close()

    async def read(self, token: Token, do: Callable[[], _Result]) -> _Result:
        """The result of `do`, which reads and may block, run in one of a few threads.

        Raises:
            Problem: the token has too many of them already, or all are taken.
        """
        return await self._reading.run(do, _share_of(token))

    async def search(self, token: Token, do: Callable[[], _Result]) -> _Result:
        """The result of `do`, which reads whole topics, run in one of very few threads.

        Raises:
            Problem: the token has one of them already, or all are taken; or Kafka does not let the server read.
        """
        try:
            return await self._searching.run(do, _share_of(token))
        except (KafkaException, NoSuchTopic, BrokerUnreachable) as error:
            raise Problem(503, "Kafka did not let this server read all that it needs", RETRY) from error

    async def change(self, token: Token, user: str, do: Callable[[], _Result]) -> _Result:
        """The result of `do`, which waits for a worker to change something of this user's.

        Raises:
            Problem: too many changes of this token or person are waited for already, or all places are taken.
        """
        return await self._changing.run(do, _share_of(token), Share("person-share", user, OF_A_PERSON))

    def waiting(self, token: Token, user: str) -> AbstractContextManager[None]:
        """A place among those who wait for `answers` about this user, as a context manager.

        Raises:
            Problem: answers are not followed yet; too many of this token or person wait already, or all places are
                taken.
        """
        if not self.live.is_ready:
            raise STARTING
        return self._waiting.taken(_share_of(token), Share("person-share", user, OF_A_PERSON))

    def streaming(self, token: Token, address: str) -> Callable[[], None]:
        """Take a place for a stream, and return the function that gives it back.

        Args:
            token: the token that reads the stream.
            address: the client's.

        Raises:
            Problem: topics are not read yet; this token or this address has too many streams, or all places are taken.
        """
        if not self.live.is_ready:
            raise STARTING
        network, connections = network_of(address), self.settings.http_connections_per_address
        return self._streams.take(
            Share("token-share", token.sha256),
            Share("token-share", f"{token.sha256} {network}", most=connections // STREAMS_OF_A_TOKEN),
            Share("address-share", network, most=connections // STREAMS_OF_AN_ADDRESS),
        )

    async def _close_outdated_snapshots(self) -> None:
        """In the background, as there may be no request for hours."""
        while True:
            await asyncio.sleep(OUTDATED_SECONDS)
            await asyncio.to_thread(self.snapshot.close_outdated)


def _share_of(token: Token) -> Share:
    return Share("token-share", token.sha256, OF_A_TOKEN)


async def api_of(request: Request) -> Api:
    """The API that a request is to. A coroutine, as FastAPI would run anything else in a thread."""
    return cast("Api", request.app.state.api)


TheApi = Annotated[Api, Depends(api_of)]
