"""A client that costs little: requests as bytes over kept connections, at a pace or as fast as they are answered."""

import asyncio
import re
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)
_HEAD = b"\r\n\r\n"
_STATUS = slice(9, 12)

Make = Callable[[int], bytes]
"""The request of this number."""


class Client(asyncio.Protocol):
    """One kept connection, with one request at a time."""

    def __init__(self) -> None:
        self._held = b""
        self._answer: asyncio.Future[int] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer once all of it is there."""
        self._held += data
        end = self._held.find(_HEAD)
        if end < 0 or self._answer is None:
            return
        length = _LENGTH.search(self._held, 0, end)
        if len(self._held) >= end + len(_HEAD) + (int(length[1]) if length else 0):
            status, self._held = int(self._held[_STATUS]), b""
            if not self._answer.done():
                self._answer.set_result(status)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell who waits."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(0)

    async def ask(self, request: bytes) -> int:
        """The status of the answer; 0 where the server closed the connection instead."""
        if self._transport is None or self._transport.is_closing():
            return 0
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()


@dataclass
class Measured:
    """What came of a run.

    Attributes:
        seconds: how long it took.
        statuses: how often each status was answered.
        waits: how long each answer took, in seconds; at a pace from when its request was due.
    """

    seconds: float = 0.0
    statuses: dict[int, int] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)

    def add(self, status: int, wait: float) -> None:
        """Count an answer."""
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self.waits.append(wait)

    def milliseconds(self, percent: int) -> float:
        """A percentile of the waits."""
        return round(1e3 * statistics.quantiles(self.waits, n=100, method="inclusive")[percent - 1], 2)


async def connect(port: int, count: int) -> list[Client]:
    """Connections to the server."""
    loop = asyncio.get_running_loop()
    return [(await loop.create_connection(Client, "127.0.0.1", port))[1] for _ in range(count)]


async def at_a_pace(clients: Sequence[Client], make: Make, rate: float, seconds: float) -> Measured:
    """Send so many requests a second, whether or not the ones before are answered by then."""
    found, total, began = Measured(), int(rate * seconds), time.perf_counter()

    async def one(first: int) -> None:
        for number in range(first, total, len(clients)):
            due = began + number / rate
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            status = await clients[first].ask(make(number))
            found.add(status, time.perf_counter() - due)

    await asyncio.gather(*(one(number) for number in range(len(clients))))
    found.seconds = time.perf_counter() - began
    return found


async def flat_out(clients: Sequence[Client], make: Make, seconds: float) -> Measured:
    """Send the next request as soon as there is an answer."""
    found, began = Measured(), time.perf_counter()

    async def one(first: int) -> None:
        number = first
        while time.perf_counter() - began < seconds:
            sent = time.perf_counter()
            found.add(await clients[first].ask(make(number)), time.perf_counter() - sent)
            number += len(clients)

    await asyncio.gather(*(one(number) for number in range(len(clients))))
    found.seconds = time.perf_counter() - began
    return found
