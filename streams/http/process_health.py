"""One small HTTP server per process: `/metrics` for Prometheus, `/live` and `/ready` for the orchestrator.

`/live` says whether the process should be restarted, `/ready` whether it does its work. Both answer 200 or 503 with the
reasons as JSON. A missing broker makes a process unready, never dead: a restart would not help.

With a tokens file, metrics and reasons require a token with the scope `operate`.
"""

import json
import logging
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from http import HTTPStatus
from typing import IO, TYPE_CHECKING, Any, Protocol, cast
from wsgiref.simple_server import ServerHandler, WSGIRequestHandler, make_server

from prometheus_client import make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer

from streams import metrics
from streams.exceptions import StreamsError
from streams.http.exceptions import RateLimited, TokensUnusable, Unauthorized
from streams.http.gate import Gate, gate_of
from streams.http.limits import network_of
from streams.http.tokens import Scope
from streams.settings import Settings

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

IDLE_SECONDS = 10.0
"""The connection of a client that sends nothing for this long is closed."""
REQUEST_SECONDS = 20.0
"""Time limit for a request and its answer."""
CONNECTIONS = 32
"""Connections at once; more are closed."""
PER_ADDRESS = CONNECTIONS // 2
"""Of one address (IPv6: one /64), so that a client that holds all it can keeps no orchestrator's probe out."""
LINE_BYTES = 8_000

logger = logging.getLogger("sager.http")


class PortTaken(StreamsError, OSError):
    """The port for metrics and health is in use or not permitted."""


class Health(Protocol):
    """A process's health. The server's threads call it; it must not block, nor name a user or a secret."""

    def why_not_live(self) -> list[str]:
        """Why it should be restarted; empty if all is well."""

    def why_not_ready(self) -> list[str]:
        """Why it does not do its work at the moment; empty if it does."""


def serve(settings: Settings, health: Health) -> None:
    """Serves on the configured port, in threads of its own; does nothing if the port is 0.

    Raises:
        PortTaken: the port is in use or not permitted.
        TokensUnusable: the tokens file is invalid.
    """
    metrics.READY.set_function(lambda: float(not health.why_not_ready()))
    if not settings.metrics_port:
        return
    gate = gate_of(settings)
    kind = _ServerV6 if ":" in settings.metrics_host else _Server
    try:
        server = make_server(settings.metrics_host, settings.metrics_port, application(health, gate), kind, _Handler)
    except OSError as error:
        raise PortTaken(
            f"metrics and health cannot be served on {settings.metrics_host}:{settings.metrics_port} "
            f"({error.strerror}): set SAGER_METRICS_PORT to another port, or to 0 for none"
        ) from error
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()


def application(health: Health, gate: Gate | None = None) -> "WSGIApplication":
    """The WSGI application that is served.

    Args:
        health: the process's health.
        gate: authenticates requests for more than whether the process is live and ready; None: everybody sees all.
    """
    tell_metrics = make_wsgi_app()
    verdicts = {"/live": ("live", health.why_not_live), "/ready": ("ready", health.why_not_ready)}

    def answer(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path == "/metrics":
            refusal = _refusal(gate, environ)
            if refusal is None:
                told: Iterable[bytes] = tell_metrics(environ, start_response)
                return told
            status, body, headers = refusal
        elif path in verdicts:
            (status, body), headers = _verdict(*verdicts[path], knows=lambda: _refusal(gate, environ) is None), []
        else:
            (status, body), headers = _not_found(), []
        start_response(status, [("Content-Type", "application/json"), ("Cache-Control", "no-store"), *headers])
        return [json.dumps(body).encode() + b"\n"]

    return answer


def _refusal(gate: Gate | None, environ: "WSGIEnvironment") -> tuple[str, dict[str, Any], list[tuple[str, str]]] | None:
    """The response that refuses metrics and reasons; None if the request may see them."""
    if gate is None:
        return None
    try:
        token = gate.enter(environ.get("HTTP_AUTHORIZATION"), environ.get("REMOTE_ADDR", "?"))
    except RateLimited as why:
        return "429 Too Many Requests", {"detail": "too many requests"}, [("Retry-After", why.retry_after)]
    except Unauthorized:
        return "401 Unauthorized", {"detail": "send a valid token"}, [("WWW-Authenticate", "Bearer")]
    except TokensUnusable:
        return "503 Service Unavailable", {"detail": "no token can be checked at the moment"}, []
    if Scope.OPERATE in token.scopes:
        return None
    return "403 Forbidden", {"detail": f"the scope {Scope.OPERATE.value} is needed"}, []


def _verdict(word: str, ask: Callable[[], list[str]], knows: Callable[[], bool]) -> tuple[str, dict[str, Any]]:
    reasons = ask()
    body = {word: not reasons, "reasons": reasons} if knows() else {word: not reasons}
    return "503 Service Unavailable" if reasons else "200 OK", body


def _not_found() -> tuple[str, dict[str, Any]]:
    return "404 Not Found", {"paths": ["/live", "/metrics", "/ready"]}


class _Server(ThreadingWSGIServer):
    """Answers a bounded number of connections at once, each in its thread and within its time."""

    def server_activate(self) -> None:
        self._of = Counter[str]()
        self._lock = threading.Lock()
        super().server_activate()

    def process_request(self, request: Any, client_address: Any) -> None:
        network = network_of(client_address[0])
        with self._lock:
            is_full = self._of.total() >= CONNECTIONS or self._of[network] >= PER_ADDRESS
            self._of[network] += not is_full
        if is_full:
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        # A time limit of the socket starts again at each byte, this one does not.
        deadline = threading.Timer(REQUEST_SECONDS, _end, [request])
        deadline.daemon = True
        deadline.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            deadline.cancel()
            network = network_of(client_address[0])
            with self._lock:
                self._of[network] -= 1
                self._of += Counter()  # without those that have none left

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing: a client that goes away is no event, and a traceback may quote what it sent."""


class _ServerV6(_Server):
    address_family = socket.AF_INET6


def _end(request: socket.socket) -> None:
    with suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class _Answer(ServerHandler):
    server_software = None  # type: ignore[assignment] # no banner
    error_status = "500 Internal Server Error"
    error_headers = [("Content-Type", "application/json"), ("Cache-Control", "no-store")]  # noqa: RUF012 - as there
    error_body = b'{"detail": "an error in the process"}\n'

    def log_exception(self, exc_info: Any) -> None:
        """Logs what failed, and nothing of the request."""
        logger.error("a request for metrics or health failed with %s", getattr(exc_info[0], "__name__", "an error"))


class _Handler(WSGIRequestHandler):
    timeout = IDLE_SECONDS

    def handle(self) -> None:
        """Answers one request."""
        self.raw_requestline = self.rfile.readline(LINE_BYTES + 1)
        if len(self.raw_requestline) > LINE_BYTES:
            self.requestline, self.request_version, self.command = "", "", ""
            self.send_error(414)
        elif self.parse_request():
            if self.command in ("GET", "HEAD") and "Transfer-Encoding" not in self.headers:
                read, write = cast("IO[bytes]", self.rfile), cast("IO[bytes]", self.wfile)
                answer = _Answer(read, write, self.get_stderr(), self.get_environ(), multithread=False)
                answer.request_handler = self  # type: ignore[attr-defined] # for its log of requests
                answer.run(self.server.get_app())  # type: ignore[attr-defined]
            else:
                self.send_error(405)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answers an error in its standard words: the standard library's own would quote the request."""
        status = HTTPStatus(code)
        body = json.dumps({"detail": status.phrase}).encode() + b"\n"
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
            f"Cache-Control: no-store\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.wfile.write(head.encode() + body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        """Logs nothing: a line per probe and scrape is noise."""
