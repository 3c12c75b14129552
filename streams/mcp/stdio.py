"""Runs `sager mcp`: the server on standard input and output, with one token for all that it does."""

from dataclasses import dataclass

import anyio
import httpx2

from streams.mcp.access import Access
from streams.mcp.api import ANSWER_SECONDS, CONNECT_SECONDS
from streams.mcp.server import server_of


@dataclass(frozen=True)
class Target:
    """Where the API is, and for whom the server acts.

    Attributes:
        url: of the API.
        token: shown with every call.
        user: the only user; None: the token's.
        domain: the only domain; None: each call names one.
    """

    url: str
    token: str
    user: str | None = None
    domain: str | None = None


def run(target: Target) -> None:
    """Serves until standard input ends."""
    anyio.run(_serve, target)


async def _serve(target: Target) -> None:
    timeout = httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
    # Neither proxies nor credentials of the environment: the token goes where it was told to go, and nowhere else.
    async with httpx2.AsyncClient(base_url=target.url, timeout=timeout, trust_env=False) as client:
        access = Access(client, target.url, target.token, target.user, target.domain)
        await server_of(access).run_stdio_async()
