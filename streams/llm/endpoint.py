"""Connects to an endpoint: no redirects, bounded replies, no logged prompts."""

import logging
from collections.abc import AsyncIterator
from urllib.parse import unquote, urlsplit

import httpx2
from openai import AsyncOpenAI, DefaultAioHttpClient

from streams.llm.calls import CallFailed, Outcome

# Far above the longest answer. Without a limit an endpoint could fill the worker's memory.
MAX_BODY_BYTES = 4 * 1024 * 1024

# At DEBUG it logs whole requests with users' data.
logging.getLogger("openai").setLevel(logging.INFO)


def connect(base_url: str, api_key: str) -> AsyncOpenAI:
    """Return an `openai` client without redirects and retries.

    A prompt goes only to the configured address, or through the proxy that the environment names for it. Credentials
    in the address replace the key, as HTTP has one header for both.
    """
    parts = urlsplit(base_url)
    auth = (unquote(parts.username or ""), unquote(parts.password or "")) if "@" in parts.netloc else None
    http = DefaultAioHttpClient(
        auth=auth,
        timeout=None,
        follow_redirects=False,
        # Compressed replies could grow beyond the limit after it was checked.
        headers={"Accept-Encoding": "identity"},
        limits=httpx2.Limits(max_connections=0),
        event_hooks={"response": [_bound]},
    )
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return AsyncOpenAI(base_url=bare, api_key=api_key or "none", max_retries=0, timeout=None, http_client=http)


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > MAX_BODY_BYTES:
                raise CallFailed(Outcome.SERVER_ERROR, f"the endpoint sent more than {MAX_BODY_BYTES:,} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise CallFailed(Outcome.SERVER_ERROR, "the endpoint compressed its reply, although it was asked not to")
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream)
