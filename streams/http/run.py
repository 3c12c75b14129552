"""Runs `sager serve`: the API, until a signal."""

import asyncio
import gc
import ipaddress
import logging
import signal
import ssl

from streams import agreement, shutdown
from streams.http.api import Api
from streams.http.api_health import ApiHealth
from streams.http.app import application
from streams.http.connection import Bounds
from streams.http.connections import Connections
from streams.http.exceptions import CannotServe, TokensUnusable
from streams.http.gate import Gate
from streams.http.process_health import serve as tell_health
from streams.http.server import Server
from streams.http.sizes import BODY_BYTES, LARGER
from streams.http.tokens import TokensFile
from streams.kafka.clients import client_config
from streams.settings import Settings

GC_THRESHOLDS = (100_000, 50, 100)
"""Objects, and younger collections, before Python's collector runs; by default 700 objects."""

logger = logging.getLogger("sager.http")


def run(settings: Settings, *, console: bool = False) -> None:
    """Serves until SIGTERM or SIGINT; requests in progress are answered first.

    Args:
        settings: the deployment.
        console: whether the console is served too.

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
    agreement.publish(settings, agreement.ALL)
    tell_health(settings, health)
    asyncio.run(_serve(settings, Gate(tokens, settings), health, tls, console=console))


def _collect_rarely() -> None:
    """A large body is tens of thousands of objects, of which Python's collector would look at all, again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


async def _serve(
    settings: Settings, gate: Gate, health: ApiHealth, tls: ssl.SSLContext | None, *, console: bool
) -> None:
    ended = asyncio.Event()

    def end() -> None:
        shutdown.begin(settings.shutdown_seconds)
        health.ends()
        ended.set()

    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, end)
    api = Api(settings, gate)
    _collect_rarely()
    health.asks(api.live)
    server = Server(application(api, console=console), settings)
    connections = connections_of(server, settings, gate, tls)
    async with api.running():
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
            api.slims.end()  # streams would keep the server waiting
            await server.close()


def connections_of(server: Server, settings: Settings, gate: Gate, tls: ssl.SSLContext | None = None) -> Connections:
    """The connections that bring a server its requests."""
    bounds = Bounds(settings.http_request_seconds, settings.http_idle_seconds, BODY_BYTES, LARGER, gate.knows)
    return Connections(server.protocol, bounds, settings.http_connections, settings.http_connections_per_address, tls)


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
