"""Slim skills: one for a request, and streams of server-sent events."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from hashlib import blake2b
from itertools import islice
from typing import Annotated, Any

import orjson
from fastapi import Header, Query, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Send
from starlette.types import Scope as ASGIScope

from schemas import Model, SlimLine, SlimSkill, compound_key
from schemas.base import Identifier, Label, Text
from streams.http.api import Api, TheApi
from streams.http.live import Place, shown
from streams.http.problems import Problem
from streams.http.routing import DomainPath, TheToken, UserPath, needs, router
from streams.http.tokens import EVERYBODY, Scope, Token

POLL_SECONDS = 0.1  # how often a stream looks for changes
BEAT_SECONDS = 15.0  # how often an idle stream sends a comment, and checks its token
AT_ONCE = 500  # events in one write, after which other requests get a turn
EVENTS = "text/event-stream"
BEAT = b":\n\n"  # a comment, which clients ignore
STREAM: dict[int | str, dict[str, Any]] = {200: {"content": {EVENTS: {"schema": {"type": "string"}}}}}

LastEventId = Annotated[
    str | None, Header(max_length=10_000, description="The id of the last event that had one: resumes behind it.")
]

routes = router("slim skills")
_READS_SLIM = needs(Scope.READ_SLIM)


class Slim(Model):
    """A line about a person, for a prompt."""

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


@routes.get("/v1/users/{user}/domains/{domain}/slim", dependencies=[_READS_SLIM], response_model=Slim)
async def slim(
    api: TheApi,
    user: UserPath,
    domain: DomainPath,
    request: Annotated[Text | None, Query(description="The person's request now.")] = None,
    session_id: Annotated[Identifier | None, Query(description="The person's session.")] = None,
    if_none_match: Annotated[str | None, Header(description="The `ETag` of an earlier answer.")] = None,
) -> Response:
    """The slim skill of a user in a domain, fresh within milliseconds: put its `text` into the prompt."""
    found = api.live.slim_for(user, domain, request, session_id)
    if found is None:
        raise Problem(404, "nothing is known of this user in this domain yet")
    body = orjson.dumps(found)
    headers = {"ETag": tag_of(body), "Cache-Control": "private, no-cache"}
    if is_same(if_none_match, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")


@routes.get(
    "/v1/users/{user}/domains/{domain}/slim/stream",
    dependencies=[_READS_SLIM], response_class=StreamingResponse, responses=STREAM,
)  # fmt: skip
async def slim_stream(
    api: TheApi, token: TheToken, user: UserPath, domain: DomainPath, last_event_id: LastEventId = None
) -> StreamingResponse:
    """One user's slim skill in a domain as server-sent events: as it is now, and each time that it changes."""
    return _Stream(_stream(api, token, compound_key(user, domain), last_event_id), api.streaming(token))


@routes.get("/v1/slim/stream", dependencies=[_READS_SLIM], response_class=StreamingResponse, responses=STREAM)
async def all_slims(api: TheApi, token: TheToken, last_event_id: LastEventId = None) -> StreamingResponse:
    """All slim skills as server-sent events, for a host that keeps a copy.

    `slim` events have a slim skill, `forgotten` ones name one to remove; after a `reset` drop the whole copy, and
    everything follows. Resume with the id of the last event that had one.
    """
    return _Stream(_stream(api, token, None, last_event_id), api.streaming(token))


class _Stream(StreamingResponse):
    """A stream that gives its place back when it ends, however it ends.

    The generator cannot: Python closes one that was never started without running its `finally`.
    """

    def __init__(self, events: AsyncIterator[bytes], place: AbstractContextManager[None]) -> None:
        super().__init__(events, headers={"X-Accel-Buffering": "no"}, media_type=EVENTS)
        self._place = ExitStack()
        self._place.enter_context(place)

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        with self._place:
            await super().__call__(scope, receive, send)


async def _stream(api: Api, token: Token, wanted: bytes | None, last: str | None) -> AsyncIterator[bytes]:
    """Yield the events of a stream, until it ends or its token does; `wanted`: the only key, or None for all."""
    checked, user = time.monotonic(), EVERYBODY if wanted is None else orjson.loads(wanted)[0]
    seen, place = api.live.changed, api.live.place()
    for some in _joined(_first(api, wanted, last)):
        yield some
        await asyncio.sleep(0)  # a copy of a million slim skills must let other requests run
    yield _position(place)
    while not api.live.is_over:
        await asyncio.sleep(POLL_SECONDS)
        before, seen, place = seen, api.live.changed, api.live.place()
        if (keys := api.live.changes(before)) is None:
            return  # too slow: the client resumes, and gets everything
        keys = keys if wanted is None else [wanted] if wanted in keys else []
        # A stream that always has changes has to check too: a token may be revoked, or lose its scope.
        if time.monotonic() - checked >= BEAT_SECONDS:
            checked, now = time.monotonic(), api.gate.current(token.sha256)
            if now is None or not now.may(Scope.READ_SLIM, user):
                return
            if not keys:
                yield BEAT
        for some in _joined(_event_of(api, key) for key in keys):
            yield some
            await asyncio.sleep(0)
        if keys:
            yield _position(place)


def _joined(events: Iterable[bytes]) -> Iterator[bytes]:
    """Join events, several at a time: one write for each would be most of their cost."""
    left = iter(events)
    while some := b"".join(islice(left, AT_ONCE)):
        yield some


def _first(api: Api, wanted: bytes | None, last: str | None) -> Iterator[bytes]:
    """Yield the changes since the client's last event, or everything. One slim skill is sent as it is."""
    if wanted is not None:
        keys = [wanted] if last is not None or wanted in api.live.slims else []
    elif last is None:
        keys = list(api.live.slims)
    elif (since := api.live.since(Place.parse(last))) is not None:
        keys = since
    else:
        yield event("reset", {})
        keys = list(api.live.slims)
    yield from (_event_of(api, key) for key in keys)


def _event_of(api: Api, key: bytes) -> bytes:
    if key not in api.live.slims:
        user, domain = orjson.loads(key)
        return event("forgotten", {"user_id": user, "domain": domain})
    found = api.live.newest(SlimSkill, key)
    return BEAT if found is None else event("slim", shown(found))  # none: an unreadable record


def _position(place: Place) -> bytes:
    """Return an event that only has an id: where to resume."""
    return f"id: {place}\nevent: position\ndata: {{}}\n\n".encode()


def tag_of(body: bytes) -> str:
    """Return the entity tag of an answer: the same for the same bytes, whichever server answers."""
    return f'"{blake2b(body, digest_size=9).hexdigest()}"'


def is_same(condition: str | None, tag: str) -> bool:
    """Return True if an `If-None-Match`, such as `W/"a", "b"` or `*`, names this tag."""
    return any(each.strip().removeprefix("W/") in (tag, "*") for each in (condition or "").split(","))


def event(name: str, data: dict[str, Any]) -> bytes:
    """Return a server-sent event."""
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(data) + b"\n\n"
