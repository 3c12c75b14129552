"""Slim skills: one for a request, and streams of server-sent events."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any

import orjson
from fastapi import Header, Query, Request, Response
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as ASGIScope

from schemas import Model, compound_key
from schemas.fields import Identifier, Label, Text
from streams.http.answer import JSON, Sent
from streams.http.api import Api, TheApi
from streams.http.auth import TOKEN, TheToken, needs
from streams.http.live import slim_of
from streams.http.params import DomainPath, UserPath
from streams.http.problems import Problem
from streams.http.slims import is_same, shown, tag_of
from streams.http.strict import quickly
from streams.http.strict import router as strict_router
from streams.http.subscribers import Place
from streams.http.tokens import EVERYBODY, Scope, Token

BEAT_SECONDS = 15.0
"""How often an idle stream says that it is alive, and whether its token still is."""
MAX_EVENT_ID = 10_000
AT_ONCE = 500
"""Events after which others get a turn."""
SLIM, FORGOTTEN, RESET = "slim", "forgotten", "reset"
EVENTS = "text/event-stream"
REVALIDATE = "private, no-cache"
_HEADERS = ((b"cache-control", REVALIDATE.encode()),)
BEAT = b":\n\n"
"""A comment, which no client shows to anybody."""

LastEventId = Annotated[
    str | None, Header(max_length=MAX_EVENT_ID, description="The id of the last event that had one: resumes behind it.")
]

router = strict_router("slim skills")


class Slim(Model):
    """What to put into a prompt about a person."""

    user_id: str
    domain: str
    skill_version: int
    text: Text
    likes: tuple[Label, ...] = ()
    avoids: tuple[Label, ...] = ()
    now: tuple[Label, ...] = ()
    session_id: Identifier | None = None
    style: str = ""
    tokens: int


class From(StrEnum):
    """Where a stream of all slim skills begins."""

    ALL = "all"
    NOW = "now"


def _quick(scope: ASGIScope) -> ASGIApp | None:
    """A slim skill as it is on the topic, for a token that may read it: what hosts ask for all the time."""
    user, domain = scope["path_params"]["user"], scope["path_params"]["domain"]
    token: Token = scope[TOKEN]
    if scope["query_string"] or "%" in user or "%" in domain or not token.may(Scope.READ_SLIM, user):
        return None
    found = scope["app"].state.api.slims.answer(user, domain)
    if found is None:
        return None
    headers = ((b"etag", found.tag), *_HEADERS)
    condition = next((value for name, value in scope["headers"] if name == b"if-none-match"), None)
    if condition is not None and is_same(condition.decode("latin-1"), found.tag.decode()):
        return Sent(304, headers)
    return Sent(200, (*headers, (b"content-type", JSON.encode())), found.body)


@router.get(
    "/v1/users/{user}/domains/{domain}/slim", dependencies=[needs(Scope.READ_SLIM)], response_model=Slim
)  # fmt: skip
@quickly(_quick)
async def slim(
    api: TheApi,
    user: UserPath,
    domain: DomainPath,
    request: Annotated[Text | None, Query(description="What the person asks for now.")] = None,
    session_id: Annotated[Identifier | None, Query(description="The session that the person is in.")] = None,
    if_none_match: Annotated[str | None, Header(description="The `ETag` of an answer that you have.")] = None,
) -> Response:
    """The slim skill of a user in a domain, fresh within milliseconds: put its `text` into the prompt."""
    body = api.slims.of(user, domain, request, session_id)
    if body is None:
        raise Problem(404, "nothing is known of this user in this domain yet")
    tag = tag_of(body)
    headers = {"ETag": tag, "Cache-Control": REVALIDATE}
    if is_same(if_none_match, tag):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=JSON)


@router.get(
    "/v1/users/{user}/domains/{domain}/slim/stream",
    dependencies=[needs(Scope.READ_SLIM)],
    response_class=StreamingResponse,
    responses={200: {"content": {EVENTS: {"schema": {"type": "string"}}}}},
)
async def slim_stream(
    request: Request,
    api: TheApi,
    token: TheToken,
    user: UserPath,
    domain: DomainPath,
    last_event_id: LastEventId = None,
) -> StreamingResponse:
    """One user's slim skill in a domain as server-sent events: as it is now, and each time that it changes."""
    key = compound_key(user, domain)
    give_back = api.streaming(token, _address(request))
    return _Stream(_stream(api, token, key, last_event_id, From.ALL), give_back)


@router.get(
    "/v1/slim/stream",
    dependencies=[needs(Scope.READ_SLIM)],
    response_class=StreamingResponse,
    responses={200: {"content": {EVENTS: {"schema": {"type": "string"}}}}},
)
async def all_slims(
    request: Request,
    api: TheApi,
    token: TheToken,
    begin: Annotated[From, Query(alias="from", description="`all` begins with every slim skill there is.")] = From.ALL,
    last_event_id: LastEventId = None,
) -> StreamingResponse:
    """All slim skills as server-sent events, for a host that keeps a copy.

    `slim` events have a slim skill, `forgotten` ones name what to remove; after a `reset` what a copy holds is to be
    thrown away, and everything follows. Resume with the id of the last event that had one.
    """
    give_back = api.streaming(token, _address(request))
    return _Stream(_stream(api, token, None, last_event_id, begin), give_back)


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


class _Stream(StreamingResponse):
    """A stream that gives its place back when it ends, however it ends.

    The generator cannot: one that was never started is closed without running its `finally`.
    """

    def __init__(self, events: AsyncIterator[bytes], give_back: Callable[[], None]) -> None:
        super().__init__(events, headers={"X-Accel-Buffering": "no"}, media_type=EVENTS)
        self._give_back = give_back

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        """Send the events, and give the place back."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._give_back()


async def _stream(api: Api, token: Token, wanted: bytes | None, last: str | None, begin: From) -> AsyncIterator[bytes]:
    """The events of a stream, until it ends or its token does."""
    subscribers, loop = api.slims.subscribers, asyncio.get_running_loop()
    user = EVERYBODY if wanted is None else orjson.loads(wanted)[0]
    checked = loop.time()
    with subscribers.follow(wanted) as follower:
        place = subscribers.place()
        for some in batched(_first(api, wanted, last, begin)):
            yield some
            await asyncio.sleep(0)  # a copy of a million slim skills is not all that there is to do
        yield _position(place)
        while not follower.is_over:
            keys = await follower.news(BEAT_SECONDS)
            place = subscribers.place()
            # A stream that always has news has to ask, too: a token may be revoked, or lose its scope.
            if loop.time() - checked >= BEAT_SECONDS or not keys:
                checked, now = loop.time(), api.gate.current(token.sha256)
                if now is None or not now.may(Scope.READ_SLIM, user):
                    return
            for some in batched(_event_of(api, key) for key in keys):
                yield some
                await asyncio.sleep(0)
            yield _position(place) if keys else BEAT


def batched(events: Iterable[bytes]) -> Iterator[bytes]:
    """Events, several at a time, as one write for each would be most of their cost."""
    left = iter(events)
    while some := b"".join(islice(left, AT_ONCE)):
        yield some


def _first(api: Api, wanted: bytes | None, last: str | None, begin: From) -> Iterator[bytes]:
    """What a stream begins with: what has changed since its last event, or everything that it is about."""
    subscribers, place = api.slims.subscribers, Place.of(last or "")
    keys = None if place is None else subscribers.since(place, wanted)
    if keys is not None:
        yield from (_event_of(api, key) for key in keys)
    elif wanted is not None:
        if wanted in api.live.slims or last is not None:  # who has held one is told that there is none any more
            yield _event_of(api, wanted)
    else:
        if last is not None:
            yield _event(RESET, {})
        if begin is From.ALL or last is not None:
            yield from (_event_of(api, key) for key in subscribers.known())


def _event_of(api: Api, key: bytes) -> bytes:
    """The event about a key, as it is by now."""
    held = api.live.slims.get(key)
    if held is None:
        user, domain = orjson.loads(key)
        return _event(FORGOTTEN, {"user_id": user, "domain": domain})
    found = slim_of(key, held)
    # A record that is none is as good as not there, for as long as no other takes its place.
    return BEAT if found is None else _event(SLIM, shown(found))


def _event(name: str, data: "dict[str, Any]") -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(data) + b"\n\n"


def _position(place: Place) -> bytes:
    """An event that only has an id: where to resume."""
    return f"id: {place}\nevent: position\ndata: {{}}\n\n".encode()
