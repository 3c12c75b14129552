"""The server within the API's own process: its tools call the application directly, and no socket is between them."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import httpx2
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from streams.mcp.access import Access
from streams.mcp.server import server_of

BODY_BYTES = 1024 * 1024
"""Maximum size of a message: a list of 100 candidates with their metadata."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
INSIDE = "http://127.0.0.1"
"""The application's address for calls that stay in this process."""


@asynccontextmanager
async def manager_of(app: ASGIApp, hosts: Iterable[str]) -> AsyncIterator[StreamableHTTPSessionManager]:
    """What answers MCP's requests, each with its caller's token.

    Requests are independent of each other: there are no sessions that somebody could fill the memory with or take over,
    and no stream that stays open.

    Args:
        app: the API.
        hosts: names of this server besides the loopback's.
    """
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url=INSIDE, trust_env=False, timeout=None) as client:
        manager = StreamableHTTPSessionManager(
            server_of(Access(client, "the API"))._lowlevel_server,
            json_response=True,
            stateless=True,
            security_settings=_protection((*LOOPBACK, *hosts)),
            max_request_body_size=BODY_BYTES,
        )
        async with manager.run():
            yield manager


def _protection(hosts: Iterable[str]) -> TransportSecuritySettings:
    """What a request's `Host` and `Origin` may be; `:*` is any port."""
    names = [f"{host}{port}" for host in hosts for port in ("", ":*")]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=names,
        allowed_origins=[f"{scheme}://{name}" for name in names for scheme in ("http", "https")],
    )
