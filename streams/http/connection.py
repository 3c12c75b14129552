"""One connection: hands whole, well-formed requests to the server's protocol, and refuses all others."""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from streams.http import metrics
from streams.http.heads import END, FORBIDDEN, HEAD_BYTES, LINE_BYTES, body_bytes
from streams.http.refusals import HEADERS_TOO_LARGE, MALFORMED, TARGET_TOO_LONG, TOO_SLOW, Refusal, Refused
from streams.http.tokens import Scope

LINGER_SECONDS = 5.0
"""How long a refused client may take to read its answer."""
DISCARD_BYTES = 1024 * 1024
"""How much of what a refused client still sends is read; a connection reset would take its answer away."""

logger = logging.getLogger("sager.http")


@dataclass(frozen=True)
class Bounds:
    """What a connection may take.

    Attributes:
        request_seconds: from a request's first byte, or the connection's start, to the request's last byte.
        idle_seconds: how long a client may take to read what it was sent.
        body: maximum size of a body, in bytes.
        larger: paths, as patterns, that take larger bodies, how large, and the scopes, one of which it takes.
        knows: whether an `Authorization` is valid and has one of these scopes; only then a larger body is read.
    """

    request_seconds: float
    idle_seconds: float
    body: int
    larger: tuple[tuple["re.Pattern[bytes]", int, frozenset[Scope]], ...] = ()
    knows: Callable[[str, frozenset[Scope]], bool] = lambda *_: False

    def body_of(self, target: bytes, headers: Mapping[bytes, bytes]) -> int:
        """The maximum size of this request's body."""
        path = target.partition(b"?")[0]
        authorization = headers.get(b"authorization", b"").decode("latin-1")
        for pattern, size, scopes in self.larger:
            if pattern.fullmatch(path):
                return size if self.knows(authorization, scopes) else self.body
        return self.body


class Owner(Protocol):
    """Is told when a connection is gone."""

    def release(self, connection: "Connection") -> None:
        """The connection is closed."""


class _Paced:
    """The transport as the server sees it: what was read and not handed over comes before anything else is read."""

    def __init__(self, transport: asyncio.Transport, resume: Callable[[], None]) -> None:
        self._transport = transport
        self.resume_reading = resume
        # Called for every answer.
        self.write, self.is_closing = transport.write, transport.is_closing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Connection(asyncio.Protocol):
    """Stands between the socket and the protocol of an HTTP server, whichever it is.

    The server's parser sees no request that is malformed, too large or not yet complete: it cannot quote one in a log
    or an answer, and nobody keeps it waiting. A refused request is replaced by one that the application answers with
    the refusal; the connection is closed after that.

    Args:
        inner: the server's protocol.
        network: the client's address, as clients are counted.
        bounds: what the connection may take.
        owner: whom to tell when it is gone.
    """

    def __init__(self, inner: asyncio.Protocol, network: str, bounds: Bounds, owner: Owner) -> None:
        self.network = network
        self._inner, self._bounds, self._owner = inner, bounds, owner
        self._held = bytearray()
        self._scanned = self._whole = self._discarded = 0
        self._refused = False
        self._due: float | None = None
        self._stalled: float | None = None
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Starts the server's protocol."""
        self._transport = cast("asyncio.Transport", transport)
        self._due = self._loop.time() + self._bounds.request_seconds
        self._inner.connection_made(cast("asyncio.Transport", _Paced(self._transport, self._resume)))

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the server's protocol."""
        self._transport = None
        self._owner.release(self)
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """The client does not read."""
        self._stalled = self._loop.time()
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """The client reads again."""
        self._stalled = None
        self._inner.resume_writing()

    def eof_received(self) -> bool | None:
        """The client sends no more."""
        return self._inner.eof_received()

    def data_received(self, data: bytes) -> None:
        """Hands over each request that is complete."""
        if self._refused:
            self._discarded += len(data)
            if self._discarded > DISCARD_BYTES:
                self._abort()
            return
        self._held += data
        self._hand_over_all()

    def _resume(self) -> None:
        # The server is in the middle of something when it says so.
        self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()
            self._hand_over_all()

    def _hand_over_all(self) -> None:
        """Hands over until the server has one request in work and one that waits; then it reads no more for a while."""
        try:
            while self._held and not self._refused and self._reads() and (request := self._next_request()) is not None:
                self._hand_over(request)
                self._due = self._loop.time() + self._bounds.request_seconds if self._held else None
        except Refused as refused:
            self._refuse(refused.refusal)
        else:
            if self._held and self._due is None:
                self._due = self._loop.time() + self._bounds.request_seconds

    def check(self, now: float) -> None:
        """Ends what takes too long; to be called every now and then.

        Args:
            now: the loop's time.
        """
        transport = self._transport
        if transport is None:
            return
        if transport.is_closing():
            # The server is done with it, but the client does not read the rest.
            self._stalled = self._stalled or now
        if self._stalled is not None and now > self._stalled + self._bounds.idle_seconds:
            metrics.REFUSED.labels("not-read").inc()
            self._abort()
        elif self._due is None or now <= self._due:
            return
        elif self._refused:
            transport.close()
        elif not self._held:
            metrics.REFUSED.labels("silent").inc()
            self._due = None
            transport.close()
        elif transport.is_reading():
            self._refuse(TOO_SLOW)
        else:
            # The server does not read: what is missing is not the client's fault.
            self._due = now + self._bounds.request_seconds

    def _next_request(self) -> bytes | None:
        """The next complete request; None if there is none yet."""
        held = self._held
        if not self._whole:
            end = held.find(END, max(0, self._scanned - len(END)))
            if FORBIDDEN.search(held, max(0, self._scanned - 1), len(held) if end < 0 else end):
                raise Refused(MALFORMED)
            if (len(held) if end < 0 else end) > HEAD_BYTES:
                raise Refused(HEADERS_TOO_LARGE if b"\r\n" in held[:LINE_BYTES] else TARGET_TOO_LONG)
            if end < 0:
                self._scanned = len(held)
                return None
            self._whole = end + len(END) + body_bytes(bytes(held[:end]), self._bounds.body, self._bounds.body_of)
        if len(held) < self._whole:
            return None
        request = bytes(held[: self._whole])
        del held[: self._whole]
        self._scanned = self._whole = 0
        return request

    def _reads(self) -> bool:
        return self._transport is not None and self._transport.is_reading()

    def _hand_over(self, request: bytes) -> None:
        try:
            self._inner.data_received(request)
        except Exception as error:
            # The event loop would log the error itself, which may quote the request.
            logger.error("the HTTP server's parser failed with %s", type(error).__name__)  # noqa: TRY400
            self._abort()

    def _refuse(self, refusal: Refusal) -> None:
        self._refused = True
        self._held.clear()
        self._due = self._loop.time() + LINGER_SECONDS
        metrics.REFUSED.labels(refusal.name).inc()
        self._hand_over(refusal.request)

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()
