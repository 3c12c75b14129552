"""How an endpoint is reached over HTTP: the connections, who asks, and how much of an answer is read."""

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from operators.llm.failures import CallFailed
from operators.llm.records import Outcome

MAX_BODY_BYTES = 4 * 1024 * 1024
"""Far more than the longest answer takes; an endpoint that sends more has another thing in mind."""
_OK, _REDIRECT = 200, 300
_PART_BYTES = 64 * 1024


def new_session(url: str) -> aiohttp.ClientSession:
    """Connections to one endpoint, as many as there are questions, through the proxy that the environment names for it.

    It has no time limit of its own, keeps no cookies, and belongs to the running event loop.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": "sager-streams"},
        # Not its `trust_env`: that reads ~/.netrc too, at every request, and refuses whom it finds there beside a key.
        proxy=_proxy_for(url),
    )


def _proxy_for(url: str) -> str | None:
    parts = urlsplit(url)
    if proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


def address(base_url: str, path: str) -> str:
    """Where to ask."""
    return f"{base_url.rstrip('/')}/{path}"


def headers(url: str, api_key: str) -> dict[str, str]:
    """Who asks. Where the address names somebody, that is who: HTTP has one place for either."""
    told = {"Content-Type": "application/json"}
    return told if "@" in urlsplit(url).netloc else told | {"Authorization": f"Bearer {api_key or 'none'}"}


def is_success(status: int) -> bool:
    """Whether an HTTP status is one of 2xx."""
    return _OK <= status < _REDIRECT


async def read_body(response: aiohttp.ClientResponse) -> bytes:
    """All that an endpoint answers.

    Raises:
        CallFailed: it goes on for longer than any answer.
    """
    body = bytearray()
    async for part in response.content.iter_chunked(_PART_BYTES):
        body += part
        if len(body) > MAX_BODY_BYTES:
            raise CallFailed(Outcome.SERVER_ERROR, f"the endpoint sent more than {MAX_BODY_BYTES:,} bytes")
    return bytes(body)
