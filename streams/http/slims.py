"""Routes of slim skills: single ones, and streams of server-sent events."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import ExitStack
from hashlib import blake2b
from itertools import islice
from typing import Annotated, Any

import orjson
from fastapi import Header, Query, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Send
from starlette.types import Scope as ASGIScope

from schemas import Identifier, Label, Model, SlimLine, SlimSkill, Text, compound_key
from streams.http.api import Api, ApiParam
from streams.http.problems import Problem
from streams.http.routing import DomainPath, TokenParam, UserPath, require, router
from streams.http.tokens import ALL_USERS, Scope, Token
from streams.http.topic_cache import ChangedKeys, slim_for_host

POLL_SECONDS = 0.1  # how often a stream looks for changes
HEARTBEAT_SECONDS = 15.0  # between two comments of an idle stream, and two checks of its token
EVENTS_PER_WRITE = 500  # after which other requests get a turn
EVENT_STREAM = "text/event-stream"
HEARTBEAT = b":\n\n"  # a comment, which clients ignore
STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {EVENT_STREAM: {"schema": {"type": "string"}}}}}

routes = router("slim skills")
_READS_SLIM = require(Scope.READ_SLIM)


class SlimView(Model):
    """A short text about a person, for a prompt."""

    user_id: str
    domain: str
    skill_version: int
    text: Text
    likes: tuple[Label, ...] = ()
    avoids: tuple[Label, ...] = ()
    now: tuple[Label, ...] = ()
    session_id: Identifier | None = None
    style: str = ""
    lines: tuple[SlimLine, ...] = ()
    tokens: int


@routes.get("/v1/users/{user}/domains/{domain}/slim", dependencies=[_READS_SLIM], response_model=SlimView)
async def slim(
    api: ApiParam,
    user: UserPath,
    domain: DomainPath,
    request: Annotated[Text | None, Query(description="The person's request now.")] = None,
    session_id: Annotated[Identifier | None, Query(description="The person's session.")] = None,
    if_none_match: Annotated[str | None, Header(description="The `ETag` of an earlier answer.")] = None,
) -> Response:
    """Return a slim skill; put its `text` into the prompt.

    Fresh within milliseconds.
    """
    found = api.cache.slim_for_request(user, domain, request, session_id)
    if found is None:
        raise Problem(404, "no line about this user is sure enough in this domain yet")
    body = orjson.dumps(found)
    tag = f'"{blake2b(body, digest_size=9).hexdigest()}"'  # equal on all servers
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    # A proxy that compresses the answer weakens its tag.
    if tag in (each.strip().removeprefix("W/") for each in (if_none_match or "").split(",")):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")


@routes.get(
    "/v1/users/{user}/domains/{domain}/slim/stream",
    dependencies=[_READS_SLIM], response_class=StreamingResponse, responses=STREAM,
)  # fmt: skip
async def slim_stream(api: ApiParam, token: TokenParam, user: UserPath, domain: DomainPath) -> StreamingResponse:
    """Stream one user's slim skill, now and after every change."""
    return _SseResponse(api, token, compound_key(user, domain))


@routes.get("/v1/slim/stream", dependencies=[_READS_SLIM], response_class=StreamingResponse, responses=STREAM)
async def all_slims(api: ApiParam, token: TokenParam) -> StreamingResponse:
    """Stream all slim skills, for a host that keeps a copy.

    `slim` events have a slim skill, `forgotten` events name one to remove. A connection begins with `reset`. Then
    everything follows, up to `ready`: drop the skills that were not named.
    """
    return _SseResponse(api, token, None)


class _SseResponse(StreamingResponse):
    """A stream of all slim skills, or of the `wanted` key's, that releases its slot when it ends."""

    # Not in the generator: Python skips the `finally` of a generator that was never started.

    def __init__(self, api: Api, token: Token, wanted: bytes | None) -> None:
        self._open = ExitStack()
        self._open.enter_context(api.streaming(token))
        changed = self._open.enter_context(api.cache.watch_slims(wanted))
        events = _stream(api, token, wanted, changed)
        super().__init__(events, headers={"X-Accel-Buffering": "no"}, media_type=EVENT_STREAM)

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        with self._open:
            await super().__call__(scope, receive, send)


async def _stream(api: Api, token: Token, wanted: bytes | None, changed: ChangedKeys) -> AsyncIterator[bytes]:
    """Yield the present slim skills, and then those that change, while the token is valid."""
    checked, user = time.monotonic(), ALL_USERS if wanted is None else orjson.loads(wanted)[0]
    if wanted is None:
        yield sse_event("reset", {})
    for part in _joined(_event_of(api, key) for key in (list(api.cache.slims) if wanted is None else [wanted])):
        yield part
        await asyncio.sleep(0)  # a copy of a million slim skills must let other requests run
    yield sse_event("ready", {})
    while not api.cache.is_closing:
        await asyncio.sleep(POLL_SECONDS)
        keys = changed.take()
        # Also without idle time, because a token may be revoked or lose its scope.
        if time.monotonic() - checked >= HEARTBEAT_SECONDS:
            checked, now = time.monotonic(), api.gate.token_by_hash(token.sha256)
            if now is None or not now.allows(Scope.READ_SLIM, user):
                return
            if not keys:
                yield HEARTBEAT
        for part in _joined(_event_of(api, key) for key in keys):
            yield part
            await asyncio.sleep(0)


def _joined(events: Iterable[bytes]) -> Iterator[bytes]:
    # One write per event would be most of the cost.
    remaining = iter(events)
    while part := b"".join(islice(remaining, EVENTS_PER_WRITE)):
        yield part


def _event_of(api: Api, key: bytes) -> bytes:
    if key not in api.cache.slims:
        user, domain = orjson.loads(key)
        return sse_event("forgotten", {"user_id": user, "domain": domain})
    found = api.cache.get(SlimSkill, key)
    return HEARTBEAT if found is None else sse_event("slim", slim_for_host(found))


def sse_event(name: str, data: dict[str, Any]) -> bytes:
    """Return a server-sent event."""
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(data) + b"\n\n"
