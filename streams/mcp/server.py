"""The resource of the MCP server, and its two transports."""

import logging
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx2
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp

from streams.mcp.api import ANSWER_SECONDS, CONNECT_SECONDS, TARGET, Ctx, Target
from streams.mcp.tools import read_for_model, server
from streams.views.llm import ToldSkill

logger = logging.getLogger("sager.mcp")


@server.resource("sager://users/{user}/domains/{domain}/skill", title="A person's skill", mime_type="text/markdown")
async def skill(ctx: Ctx, user: str, domain: str) -> str:
    """How a person decides, as a document in Markdown."""
    return ToldSkill.model_validate(await read_for_model(ctx, user, domain)).markdown


def run(url: str, token: str, user: str | None, domain: str | None) -> None:
    """Serve on standard input and output until the input ends.

    `user`: the only user; None: the token's. `domain`: the only domain; None: each call names one.
    """

    async def serve() -> None:
        timeout = httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
        # Neither proxies nor credentials of the environment: the token goes to this address, and nowhere else.
        async with httpx2.AsyncClient(base_url=url, timeout=timeout, trust_env=False) as client:
            TARGET.set(Target(client, url, token, user, domain))
            await server.run_stdio_async()

    anyio.run(serve)


@asynccontextmanager
async def over_http(app: ASGIApp, names: list[str], max_bytes: int) -> AsyncIterator[StreamableHTTPSessionManager]:
    """Serve within the API's process: tools call the application without a socket, with each request's own token.

    `names`: the hosts that requests may name, against DNS rebinding. `max_bytes`: maximum size of a message.
    """
    transport = httpx2.ASGITransport(app=app)
    base = "http://127.0.0.1"
    async with httpx2.AsyncClient(transport=transport, base_url=base, trust_env=False, timeout=None) as client:
        TARGET.set(Target(client, "the API"))
        manager = StreamableHTTPSessionManager(
            server._lowlevel_server,
            json_response=True,
            stateless=True,
            security_settings=TransportSecuritySettings(
                enable_dns_rebinding_protection=True,
                allowed_hosts=names,
                allowed_origins=[f"{scheme}://{name}" for name in names for scheme in ("http", "https")],
            ),
            max_request_body_size=max_bytes,
        )
        async with manager.run():
            yield manager


class _WithoutQuotes(logging.Handler):
    """Logs that the SDK logged something, without the text: its messages quote arguments and users' addresses."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log the place and, of an error, its kind and its traceback without the message."""
        error = record.exc_info[1] if record.exc_info else None
        while error is not None and error.__cause__ is not None:
            error = error.__cause__
        if error is None:
            logger.log(record.levelno, "the MCP library logged something at %s:%s", record.module, record.lineno)
            return
        where = "".join(traceback.format_tb(error.__traceback__))
        logger.log(record.levelno, "a request over MCP failed with %s\n%s", type(error).__name__, where)


_theirs = logging.getLogger("mcp")
_theirs.setLevel(logging.WARNING)
_theirs.propagate = False
_theirs.handlers = [_WithoutQuotes()]
for _name in ("httpx2", "httpcore2"):  # their messages have addresses, which name users
    logging.getLogger(_name).setLevel(logging.WARNING)
