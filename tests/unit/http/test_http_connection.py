"""One connection between a socket and a server, without either: what the server is handed, and when."""

import asyncio
import re
from typing import cast

from streams.http.connection import Bounds, Connection

REQUEST = b"GET /v1/users HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Line(asyncio.Transport):
    """A socket's side: reads, or does not."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = True

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True

    def is_reading(self) -> bool:
        return self.reads


class Busy(asyncio.Protocol):
    """A server that has its hands full after every request."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.taken.append(data)
        self.transport.pause_reading()


class Nobody:
    def release(self, connection: Connection) -> None:
        """Nobody counts."""


async def test_a_server_that_is_busy_is_handed_no_more_however_much_was_sent() -> None:
    server, line = Busy(), Line()
    connection = Connection(server, "127.0.0.1", Bounds(60.0, 60.0, 1_000), Nobody())
    connection.connection_made(line)
    requests = [REQUEST.replace(b"users", b"users/%d" % number) for number in range(1_000)]

    connection.data_received(b"".join(requests) + REQUEST[:10])
    assert server.taken == requests[:1]
    assert not line.reads

    for answered in range(1, len(requests)):
        server.transport.resume_reading()
        await asyncio.sleep(0)
        assert len(server.taken) == answered + 1
    assert server.taken == requests
    assert not line.reads

    server.transport.resume_reading()
    await asyncio.sleep(0)
    assert line.reads, "what is missing of the last one"
    connection.data_received(REQUEST[10:])
    assert server.taken[-1] == REQUEST


async def test_what_waits_is_refused_in_its_turn() -> None:
    server, line = Busy(), Line()
    connection = Connection(server, "127.0.0.1", Bounds(60.0, 60.0, 1_000), Nobody())
    connection.connection_made(line)

    connection.data_received(REQUEST + b"GET /\n\n" + REQUEST)
    assert server.taken == [REQUEST]
    server.transport.resume_reading()
    await asyncio.sleep(0)

    assert len(server.taken) == 2
    assert not re.search(rb"GET /\n", server.taken[1])


async def test_a_connection_that_is_gone_takes_nothing_up_again() -> None:
    server, line = Busy(), Line()
    connection = Connection(server, "127.0.0.1", Bounds(60.0, 60.0, 1_000), Nobody())
    connection.connection_made(line)
    connection.data_received(2 * REQUEST)

    server.transport.resume_reading()
    connection.connection_lost(None)
    await asyncio.sleep(0)

    assert server.taken == [REQUEST]
