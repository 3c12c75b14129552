"""Accepts connections, as many as there is room for: in all, and from one address."""

import asyncio
import logging
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from streams.http import metrics
from streams.http.connection import Bounds, Connection
from streams.http.limits import network_of
from streams.http.problems import BUSY

BACKLOG = 128
CHECK_SECONDS = 1.0
"""How often connections are checked for what takes too long; more often if their bounds are short."""
PAUSE_SECONDS = 0.1
"""Pause after a connection that could not be accepted: most likely there are no file descriptors."""

logger = logging.getLogger("sager.http")


class Connections:
    """Serves connections on a host and port.

    Args:
        inner: makes the server's protocol for a connection.
        bounds: what each connection may take.
        in_all: maximum number of connections.
        per_address: maximum number from one address (IPv6: one /64).
        tls: for TLS; connections in their handshake count too.

    Attributes:
        sockets: the listening sockets.
    """

    def __init__(
        self,
        inner: Callable[[], asyncio.Protocol],
        bounds: Bounds,
        in_all: int,
        per_address: int,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._inner, self._bounds, self._tls = inner, bounds, tls
        self._in_all, self._per_address = in_all, per_address
        self._open: set[Connection] = set()
        self._of = Counter[str]()
        self.sockets: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def listen(self, host: str, port: int) -> None:
        """Starts to accept connections on each of the host's addresses.

        Raises:
            OSError: an address cannot be used.
        """
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        try:
            for family, _, _, _, address in dict.fromkeys(found):
                self.sockets.append(socket.create_server(address, family=family, backlog=BACKLOG))
        except OSError:
            await self.close()
            raise
        for each in self.sockets:
            each.setblocking(False)
            self._start(self._accept(each))
        self._start(self._check())

    async def close(self) -> None:
        """Accepts no more; connections that are open stay so."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for each in self.sockets:
            each.close()

    def release(self, connection: Connection) -> None:
        """Gives a connection's place back."""
        if connection in self._open:
            self._open.discard(connection)
            self._of[connection.network] -= 1
            if not self._of[connection.network]:
                del self._of[connection.network]

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, address = await loop.sock_accept(listening)
            except OSError:
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            network = network_of(address[0])
            full = len(self._open) >= self._in_all
            if full or self._of[network] >= self._per_address:
                metrics.REFUSED.labels("full" if full else "full-address").inc()
                self._turn_away(client)
                continue
            with suppress(OSError):  # the client is gone already
                # Asyncio does so for sockets that name their protocol, which accepted ones do not: the body of an
                # answer would wait 40 ms for the client to acknowledge its head.
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(self._inner(), network, self._bounds, self)
            self._open.add(connection)
            self._of[network] += 1
            self._start(self._connect(connection, client))

    async def _connect(self, connection: Connection, client: socket.socket) -> None:
        limit = {"ssl_handshake_timeout": self._bounds.request_seconds} if self._tls else {}
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: connection, client, ssl=self._tls, **limit)
        except (OSError, TimeoutError):  # of TLS too; its message may quote what the client sent
            metrics.REFUSED.labels("tls").inc()
            self.release(connection)

    def _turn_away(self, client: socket.socket) -> None:
        """Says so if that takes no time, and closes."""
        with suppress(OSError):
            client.setblocking(False)
            if self._tls is None:
                client.send(BUSY)
        client.close()

    async def _check(self) -> None:
        pause = min(CHECK_SECONDS, self._bounds.request_seconds / 4)
        while True:
            await asyncio.sleep(pause)
            now = asyncio.get_running_loop().time()
            for connection in tuple(self._open):
                connection.check(now)

    def _start(self, work: "asyncio._CoroutineLike[None]") -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
