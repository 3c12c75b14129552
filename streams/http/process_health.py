"""A small HTTP server per process: `/metrics`, `/live` and `/ready`.

With a tokens file, metrics and reasons require a token with the scope `operate`. The metrics have fingerprints of the
settings that a deployment's processes must share: a materializer without the workers' chain key would readmit erased
events, and one without their privacy settings would keep rows that they refuse.
"""

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import SecretStr
from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from streams import metrics
from streams.http.limits import Gate
from streams.http.problems import RETRY, Problem
from streams.http.server import Config, Server, listen
from streams.http.tokens import Scope, TokensFile, TokensUnusable
from streams.settings import Settings

REQUEST_SECONDS = 10.0
CONNECTIONS = 32  # an address gets at most half, so the orchestrator's probe always connects
NO_STORE = {"Cache-Control": "no-store"}
EVERY = ("prefix", "partitions")
FILTERS = (*EVERY, "chain_key", "privacy", "sensitive", "parsers")
# Settings that must agree: of every process, of those that keep rows, and of workers and the HTTP API.
ALL = (*FILTERS, "pseudonym_key", "vouched", "numbers")
_ROUNDS = 200_000  # makes each guess at a weak secret cost a tenth of a second


class Health(Protocol):
    """A process's health. Thread-safe."""

    # Reasons must not name users or secrets: probes log them. A missing broker makes a process unready, not dead: a
    # restart would not help.

    def why_not_live(self) -> list[str]:
        """Return the reasons to restart the process."""

    def why_not_ready(self) -> list[str]:
        """Return the reasons why it cannot work at the moment."""


def serve(settings: Settings, health: Health, shared: Sequence[str]) -> None:
    """Serve in a thread on the configured port, unless it is 0; `shared` names settings to publish."""
    metrics.SHARED_SETTINGS.clear()
    for name in shared:
        metrics.SHARED_SETTINGS.labels(setting=name, fingerprint=fingerprint(settings, name)).set(1)
    metrics.READY.set_function(lambda: float(not health.why_not_ready()))
    if not settings.metrics_port:
        return
    gate = None
    if settings.http_tokens is not None:
        tokens = TokensFile(settings.http_tokens)
        tokens.all()
        gate = Gate(tokens, settings)
    listening = listen(settings.metrics_host, settings.metrics_port, "SAGER_METRICS_PORT, or set it to 0")
    config = Config(
        application(health, gate),
        connections=CONNECTIONS,
        request_seconds=REQUEST_SECONDS,
        idle_seconds=REQUEST_SECONDS,
        shutdown_seconds=1,
        loop="asyncio",
    )
    threading.Thread(target=Server(config).run, args=([listening],), name="health", daemon=True).start()


def fingerprint(settings: Settings, name: str) -> str:
    """Return a short digest of a setting's value, or `unset`."""
    value: Any = getattr(settings, name)
    if value is None or (isinstance(value, SecretStr) and not value):
        return "unset"
    if isinstance(value, SecretStr):
        digest = hashlib.pbkdf2_hmac("sha256", value.get_secret_value().encode(), name.encode(), _ROUNDS)
    else:
        digest = hashlib.sha256(_canonical(value)).digest()
    return digest.hex()[:8]


def _canonical(value: Any) -> bytes:
    if isinstance(value, Path):
        return value.read_bytes()
    if isinstance(value, Mapping):
        value = {key: sorted(each) if isinstance(each, frozenset) else each for key, each in sorted(value.items())}
    return to_json(value)


def application(health: Health, gate: Gate | None = None) -> Starlette:
    """Return the application; without a gate it is open to all."""

    def scrape(request: Request) -> Response:
        return _refusal(gate, request) or Response(generate_latest(), headers=NO_STORE, media_type=CONTENT_TYPE_LATEST)

    def probe(word: str, reasons_of: Callable[[], list[str]]) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            reasons = reasons_of()
            more = {"reasons": reasons} if _refusal(gate, request) is None else {}
            return JSONResponse({word: not reasons, **more}, 503 if reasons else 200, NO_STORE)

        return answer

    live, ready = probe("live", health.why_not_live), probe("ready", health.why_not_ready)
    app = Starlette(routes=[Route("/metrics", scrape), Route("/live", live), Route("/ready", ready)])
    app.router.redirect_slashes = False
    return app


def _refusal(gate: Gate | None, request: Request) -> Response | None:
    """Return an error response, or None if the client may read."""
    if gate is None:
        return None
    try:
        if Scope.OPERATE in gate.authenticate(request.headers.get("authorization"), request.client).scopes:
            return None
        problem = Problem(403, f"the scope {Scope.OPERATE} is needed")
    except TokensUnusable:
        problem = Problem(503, "no token can be checked at the moment", RETRY)
    except Problem as error:
        problem = error
    problem.headers = {**problem.headers, **NO_STORE}
    return problem.response()
