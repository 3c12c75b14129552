"""MCP over streamable HTTP at `/mcp` of the API's own application, each request with its caller's token.

Requests are independent of each other: no session fills the memory or can be taken over, and no stream stays open. The
SDK is imported with the first request: an API without agents does not pay for it.
"""

import asyncio
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"
BODY_BYTES = 1024 * 1024
"""Maximum size of a message: a list of 100 candidates with their metadata."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def mount(app: FastAPI, hosts: Iterable[str] = ()) -> None:
    """Add `/mcp` to the application, whose middleware authenticates each request first.

    `hosts`: names of this server besides the loopback's; requests for other hosts, and those of pages of another
    origin, are refused.
    """
    app.router.routes.append(
        Route(PATH, endpoint=_Endpoint(app, filter(None, hosts)), methods=["POST"], include_in_schema=False)
    )


class _Endpoint:
    """The ASGI application that answers MCP's messages; its tools call `app` directly, without a socket."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._names = [f"{host}{port}" for host in (*LOOPBACK, *hosts) for port in ("", ":*")]  # `:*` is any port
        self._manager: asyncio.Task[None] | None = None
        self._started: asyncio.Future[StreamableHTTPSessionManager] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._started is None:
            self._started = asyncio.get_running_loop().create_future()
            # A task of its own: a task group must end in the task that entered it, and this request ends earlier.
            self._manager = asyncio.create_task(self._run(self._started), name="mcp")
        manager = await asyncio.shield(self._started)
        await manager.handle_request(scope, receive, send)

    async def _run(self, started: "asyncio.Future[StreamableHTTPSessionManager]") -> None:
        try:
            server = await asyncio.to_thread(import_module, "streams.mcp.server")
            async with server.over_http(self._app, self._names, BODY_BYTES) as manager:
                started.set_result(manager)
                await asyncio.Event().wait()
        except Exception as error:
            if started.done():
                raise
            started.set_exception(error)
