"""uvicorn with limits on connections and deadlines for slow clients."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from streams.exceptions import StreamsError
from streams.http import metrics
from streams.http.limits import HEAD_BYTES, Limiter, network_of
from streams.http.problems import RETRY, Problem


class PortTaken(StreamsError, OSError):
    """The port is in use or not permitted."""


class Config(uvicorn.Config):
    """uvicorn's configuration of one listener; shutdowns wait for responses.

    `request_seconds` limits the head of a request; `idle_seconds` the next request, and the reading of a response.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        connections: int,
        request_seconds: float,
        idle_seconds: float,
        shutdown_seconds: float,
        **more: Any,
    ) -> None:
        self.slots = Limiter(connections)
        self.request_seconds, self.idle_seconds = request_seconds, idle_seconds
        super().__init__(
            app,
            http=_Protocol,
            h11_max_incomplete_event_size=HEAD_BYTES,
            # uvicorn declares whole seconds, and uses them as a float.
            timeout_keep_alive=idle_seconds,  # type: ignore[arg-type]
            timeout_graceful_shutdown=max(1, round(shutdown_seconds)),
            ws="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            log_level="error",
            server_header=False,
            date_header=False,
            proxy_headers=False,
            **more,
        )


class Server(uvicorn.Server):
    """uvicorn's server without signal handlers."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the owner, which ends streams first."""
        yield


class _Protocol(H11Protocol):
    """uvicorn's connection with deadlines and a limit by address."""

    # Without them, clients that send half a head or read no response keep their connections for ever, and one address
    # can take all of them.

    config: Config
    _head_deadline: asyncio.TimerHandle | None = None
    _write_deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Refuse the connection over the limit, or wait for its first request."""
        super().connection_made(transport)
        self.access_log = False  # paths name users
        transport.set_write_buffer_limits(1)  # an unsent byte starts the write deadline; 0 would stall TLS
        self._slot = ExitStack()
        try:
            self._slot.enter_context(self.config.slots.hold(network_of(self.client[0] if self.client else "?")))
        except Problem:
            self._refuse(503, "full", "too many connections: try again")
        else:
            self._start_head_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._slot.close()
        self._stop_head_deadline()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse bytes; a deadline runs until the head is complete."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._start_head_deadline()
        else:
            self._stop_head_deadline()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_deadline is None:
            self._write_deadline = self.loop.call_later(self.config.idle_seconds, self._abort)

    def resume_writing(self) -> None:
        super().resume_writing() if self.flow is not None else None
        if self._write_deadline is not None:
            self._write_deadline.cancel()
            self._write_deadline = None

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "malformed", f"the request is not valid HTTP/1.1, or its head is over {HEAD_BYTES:,} bytes")

    def _start_head_deadline(self) -> None:
        if self._head_deadline is None:
            late = (408, "too-slow", "the request did not arrive in time")
            self._head_deadline = self.loop.call_later(self.config.request_seconds, self._refuse, *late)

    def _stop_head_deadline(self) -> None:
        if self._head_deadline is not None:
            self._head_deadline.cancel()
            self._head_deadline = None

    def _abort(self) -> None:
        metrics.REFUSED.labels("not-read").inc()
        self.transport.abort()

    def _refuse(self, status: int, reason: str, detail: str) -> None:
        """Send a problem response unless another has started, then close the connection."""
        metrics.REFUSED.labels(reason).inc()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            retry = RETRY if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
            problem = Problem(status, detail, {"Cache-Control": "no-store", "Connection": "close", **retry}).response()
            head = h11.Response(status_code=status, headers=problem.raw_headers)
            for event in (head, h11.Data(data=bytes(problem.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def listen(host: str, port: int, setting: str = "") -> socket.socket:
    """Return a listening socket; errors name the `setting`."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        raise PortTaken(f"{host}:{port} is not available ({error.strerror}): change {setting}") from error
    # Accepted sockets inherit it. asyncio does not set it here, and bodies would wait 40 ms after their heads.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
