"""Runs `sager serve`: the API, until a signal."""

import asyncio
import ipaddress
import logging
import signal
import ssl
from collections.abc import Callable
from typing import cast

from aiohttp import web

from streams import shutdown
from streams.http.api import BODY_BYTES, Api
from streams.http.api_health import ApiHealth
from streams.http.connection import Bounds
from streams.http.connections import Connections
from streams.http.exceptions import CannotServe, TokensUnusable
from streams.http.gate import Gate
from streams.http.process_health import serve as tell_health
from streams.http.tokens import TokensFile
from streams.kafka.clients import client_config
from streams.settings import Settings

logger = logging.getLogger("sager.http")


def run(settings: Settings) -> None:
    """Serves until SIGTERM or SIGINT; requests in progress are answered first.

    Raises:
        TokensUnusable: there is no tokens file, or it is invalid.
        CannotServe: the certificate or the port cannot be used.
        SecurityMisconfigured: a file for Kafka's TLS is invalid.
    """
    if settings.http_tokens is None:
        raise TokensUnusable(
            "no request could be authenticated: set SAGER_HTTP_TOKENS to a tokens file, and put into it what "
            "`sager token new --name NAME --scope read-all` prints"
        )
    tokens = TokensFile(settings.http_tokens)
    tokens.all()
    client_config(settings)  # fails now if it is invalid, and not at the first command
    tls = tls_of(settings)
    if tls is None and not _is_loopback(settings.http_host):
        logger.warning(
            "tokens and users' data cross the network unencrypted on %s: set SAGER_HTTP_CERTIFICATE and "
            "SAGER_HTTP_KEY, or put a TLS proxy in front",
            settings.http_host,
        )
    health = ApiHealth(settings, tokens)
    tell_health(settings, health)
    asyncio.run(_serve(settings, Api(settings, Gate(tokens, settings)), health, tls))


async def _serve(settings: Settings, api: Api, health: ApiHealth, tls: ssl.SSLContext | None) -> None:
    ended = asyncio.Event()

    def end() -> None:
        shutdown.begin(settings.shutdown_seconds)
        health.ends()
        ended.set()

    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, end)
    runner = await runner_of(api, settings)
    connections = connections_of(runner, settings, tls)
    try:
        try:
            await connections.listen(settings.http_host, settings.http_port)
        except OSError as error:
            raise CannotServe(
                f"{settings.http_host}:{settings.http_port} is not available ({error.strerror}): set "
                "SAGER_HTTP_HOST and SAGER_HTTP_PORT to others"
            ) from error
        health.serves()
        logger.info("serving on %s:%s", settings.http_host, settings.http_port)
        await ended.wait()
    finally:
        await connections.close()
        await runner.cleanup()


async def runner_of(api: Api, settings: Settings) -> web.AppRunner:
    """What runs the API's requests; `connections_of` brings it some."""
    runner = web.AppRunner(
        api.application(),
        access_log=None,  # paths name users
        logger=_server_logger(),
        keepalive_timeout=settings.http_idle_seconds,
        auto_decompress=False,
        shutdown_timeout=settings.shutdown_seconds,
    )
    await runner.setup()
    return runner


def connections_of(runner: web.AppRunner, settings: Settings, tls: ssl.SSLContext | None = None) -> Connections:
    """The connections of a runner that is set up."""
    bounds = Bounds(settings.http_request_seconds, settings.http_idle_seconds, BODY_BYTES)
    inner = cast("Callable[[], asyncio.Protocol]", runner.server)
    return Connections(inner, bounds, settings.http_connections, settings.http_connections_per_address, tls)


def _server_logger() -> logging.Logger:
    """The logger of aiohttp's own errors: it says that there was one, and never what, which may quote a request."""
    quiet = logging.getLogger("sager.http.server")
    quiet.setLevel(logging.WARNING)
    if not quiet.filters:
        quiet.addFilter(_without_quotes)
    return quiet


def _without_quotes(record: logging.LogRecord) -> bool:
    kind = record.exc_info[0] if record.exc_info else None
    record.msg, record.args = "the HTTP server failed with %s", (kind.__name__ if kind else "no error",)
    record.exc_info = record.exc_text = None
    return True


def tls_of(settings: Settings) -> ssl.SSLContext | None:
    """The server's side of TLS; None without a certificate.

    Raises:
        CannotServe: certificate or key cannot be used.
    """
    if settings.http_certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        # Without a password OpenSSL would ask for it on the terminal.
        context.load_cert_chain(settings.http_certificate, settings.http_key, lambda: "")
    except OSError as error:  # also ssl.SSLError
        raise CannotServe(
            f"SAGER_HTTP_CERTIFICATE ({settings.http_certificate}) and SAGER_HTTP_KEY ({settings.http_key}) cannot be "
            "used: they must be matching PEM files, the key without a password"
        ) from error
    return context


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
