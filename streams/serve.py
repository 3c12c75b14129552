"""`sager serve`: the API and the console in one process."""

import asyncio
import gc
import logging
import signal

from fastapi import FastAPI

from streams import shutdown
from streams.console.app import Console, links
from streams.exceptions import StreamsError
from streams.http import app as http_app
from streams.http import process_health
from streams.http.api import Api
from streams.http.limits import Gate, is_loopback
from streams.http.server import Config, Server, listen
from streams.http.tokens import TokensFile, TokensUnusable
from streams.kafka.clients import client_config
from streams.settings import Settings

# A large body is tens of thousands of objects: with Python's 700 the collector would look at all, again and again.
GC_THRESHOLDS = (100_000, 50, 100)

logger = logging.getLogger("sager.http")


def application(api: Api, *, console: bool = False) -> FastAPI:
    """Return the API as an ASGI application, with or without the console."""
    if not console:
        return http_app.application(api)
    pages = Console(api)
    app = http_app.application(api, pages.app, [links])
    app.state.console = pages
    return app


class ApiHealth:
    """The health of `sager serve`. Thread-safe."""

    def __init__(self, settings: Settings, tokens: TokensFile) -> None:
        self._settings, self._tokens = settings, tokens
        self.phase = "starting"
        self.api: Api | None = None

    def why_not_live(self) -> list[str]:
        """Return the reasons to restart the process."""
        return []  # the follower of topics recovers from errors by itself

    def why_not_ready(self) -> list[str]:
        """Return the reasons why requests about users would fail."""
        reasons = [self.phase] if self.phase else []
        try:
            self._tokens.all()
        except TokensUnusable as error:
            reasons.append(str(error))
        if not self._settings.duckdb_file.exists():
            reasons.append("there is no snapshot yet")
        if self.api is not None and not self.api.cache.is_ready:
            reasons.append("reading the slim skills")
        return reasons


def run(settings: Settings, *, console: bool = False) -> None:
    """Serve until SIGTERM or SIGINT, then finish requests in progress."""
    if settings.http_tokens is None:
        raise TokensUnusable(
            "set SAGER_HTTP_TOKENS to a file with the output of `sager token new --name NAME --scope read-all`"
        )
    tokens = TokensFile(settings.http_tokens)
    tokens.all()
    client_config(settings)  # fail at the start, not at the first command
    if settings.http_certificate is None and not is_loopback(settings.http_host):
        logger.warning("tokens and data cross the network unencrypted: set SAGER_HTTP_CERTIFICATE, or use a TLS proxy")
    health = ApiHealth(settings, tokens)
    process_health.serve(settings, health, process_health.ALL)
    asyncio.run(_serve(settings, Gate(tokens, settings), health, console=console))


async def _serve(settings: Settings, gate: Gate, health: ApiHealth, *, console: bool) -> None:
    api = Api(settings, gate)
    config = config_of(application(api, console=console), settings)
    server = Server(config)
    listening = listen(settings.http_host, settings.http_port, "SAGER_HTTP_PORT")

    def end() -> None:
        shutdown.start(settings.shutdown_seconds)
        health.phase = "shutting down"
        api.cache.is_closing = True  # open streams would delay the shutdown
        server.should_exit = True

    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, end)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    health.api = api
    async with api.running():
        health.phase = ""
        logger.info("serving on %s:%s", settings.http_host, settings.http_port)
        await server.serve([listening])


def config_of(app: object, settings: Settings) -> Config:
    """Return the server's configuration, loaded."""
    config = Config(
        app,  # type: ignore[arg-type]
        connections=settings.http_connections,
        request_seconds=settings.http_request_seconds,
        idle_seconds=settings.http_idle_seconds,
        shutdown_seconds=settings.shutdown_seconds,
        ssl_certfile=settings.http_certificate,
        ssl_keyfile=settings.http_key,
        ssl_keyfile_password="",  # otherwise OpenSSL would prompt on the terminal
    )
    try:
        config.load()
    except OSError as error:  # also ssl.SSLError
        raise StreamsError(
            "SAGER_HTTP_CERTIFICATE and SAGER_HTTP_KEY must name matching PEM files, the key without a password"
        ) from error
    return config
