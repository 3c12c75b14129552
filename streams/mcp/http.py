"""Serves MCP over streamable HTTP at `/mcp` of the API's own application, each request with its caller's token.

The SDK is imported with the first request: whoever serves the API without agents does not pay for it.
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


def mount(app: FastAPI, hosts: Iterable[str] = ()) -> None:
    """Adds `/mcp` to the application, whose middleware has authenticated a request before it comes here.

    Args:
        app: the API.
        hosts: names of this server besides the loopback's: a request for another host is refused, and so is one from a
            page of another origin.
    """
    app.router.routes.append(
        Route(PATH, endpoint=Endpoint(app, tuple(filter(None, hosts))), methods=["POST"], include_in_schema=False)
    )


class Endpoint:
    """The ASGI application that answers MCP's messages.

    Args:
        app: the API, which its tools call.
        hosts: names of this server besides the loopback's.
    """

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...] = ()) -> None:
        self._app, self._hosts = app, hosts
        self._started: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if self._started is None:
            self._started = asyncio.get_running_loop().create_future()
            # What the manager starts has to be ended by the task that began it: not by a request, which ends before.
            self._task = asyncio.create_task(self._run(self._started), name="mcp")
        manager = await asyncio.shield(self._started)
        await manager.handle_request(scope, receive, send)

    async def _run(self, started: "asyncio.Future[StreamableHTTPSessionManager]") -> None:
        """Keeps the manager going until the event loop cancels its tasks."""
        try:
            inside = await asyncio.to_thread(import_module, "streams.mcp.inside")
            async with inside.manager_of(self._app, self._hosts) as manager:
                started.set_result(manager)
                await asyncio.Event().wait()
        except Exception as error:
            if started.done():
                raise
            started.set_exception(error)
