"""uvicorn's protocol behind our connections: it sees whole, well-formed requests only."""

import asyncio
import logging
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from streams.settings import Settings

CHECK_SECONDS = 0.05


class Server:
    """Runs an ASGI application on connections that somebody else accepts.

    Args:
        application: the ASGI application.
        settings: how long connections may be idle, and how long ending may take.
    """

    def __init__(self, application: Any, settings: Settings) -> None:
        self._seconds = settings.shutdown_seconds
        self._state = ServerState()
        self._config = Config(
            application,
            access_log=False,
            log_config=None,
            ws="none",
            lifespan="off",
            server_header=False,
            date_header=False,
            proxy_headers=False,
            # Typed as whole seconds, and used as a float.
            timeout_keep_alive=settings.http_idle_seconds,  # type: ignore[arg-type]
        )
        _quieten()

    def protocol(self) -> asyncio.Protocol:
        """The protocol of one connection."""
        protocol = HttpToolsProtocol(self._config, self._state, {})
        # uvicorn logs requests where anybody listens, whatever its configuration says; and paths name users.
        protocol.access_log = False
        return protocol

    async def close(self) -> None:
        """Answers the requests in progress, if that does not take longer than `shutdown_seconds`, and closes."""
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self._seconds
        for connection in tuple(self._state.connections):
            connection.shutdown()
        state = self._state
        while (state.tasks or state.connections) and loop.time() < give_up:  # noqa: ASYNC110 - uvicorn has no event
            await asyncio.sleep(CHECK_SECONDS)
        for task in tuple(self._state.tasks):
            task.cancel()


def _quieten() -> None:
    """The server's own errors say that there was one, and never what, which may quote a request."""
    quiet = logging.getLogger("uvicorn.error")
    quiet.setLevel(logging.WARNING)
    if not quiet.filters:
        quiet.addFilter(_without_quotes)


def _without_quotes(record: logging.LogRecord) -> bool:
    kind = record.exc_info[0] if record.exc_info else None
    record.msg, record.args = "the HTTP server failed with %s", (kind.__name__ if kind else "no error",)
    record.exc_info = record.exc_text = None
    return True
