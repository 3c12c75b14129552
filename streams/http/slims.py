"""Slim skills as hosts get them over HTTP: for a request and a session, and as streams of changes."""

import asyncio
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from operators.steps.rank import Rank
from schemas import SlimSkill
from streams.http.live import GONE_MS, Live
from streams.settings import Settings
from streams.steps import rank_of

INTERNAL = {"event_id", "occurred_at", "schema_version", "seal", "session_text", "session_lines", "session_until"}
"""Fields of the record that mean nothing to a host."""
_PLACE: TypeAdapter[tuple[str, int, dict[int, int]]] = TypeAdapter(tuple[str, int, dict[int, int]])


@dataclass(frozen=True)
class Place:
    """A stream's place: it has had everything before these offsets. As JSON it is the id of an event."""

    life: str  # names the numbering of offsets: the embedded broker counts again at each start
    at_ms: int  # in milliseconds since 1970
    offsets: dict[int, int]  # the next one of each partition

    def __str__(self) -> str:
        """Return the place as an event's id."""
        return _PLACE.dump_json((self.life, self.at_ms, self.offsets)).decode()

    @classmethod
    def parse(cls, text: str) -> "Place | None":
        """Return the place that an event's id names, if it is one.

        >>> str(Place.parse('["kafka",5,{"0":7,"1":9}]')), Place.parse("x")
        ('["kafka",5,{"0":7,"1":9}]', None)
        """
        try:
            return cls(*_PLACE.validate_json(text))
        except ValidationError:
            return None


class Follower:
    """One stream. Keys wait in it, not values: a slow client gets only the newest value of each."""

    def __init__(self) -> None:
        self._pending: dict[bytes, None] = {}
        self._woken = asyncio.Event()
        self.is_over = False

    def notify(self, key: bytes) -> None:
        """Note a change of this key."""
        self._pending[key] = None
        self._woken.set()

    def end(self) -> None:
        """End the stream."""
        self.is_over = True
        self._woken.set()

    async def changes(self, seconds: float) -> tuple[bytes, ...]:
        """Return the keys that changed since the last call; none after so many seconds without a change."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return ()
        self._woken.clear()
        found, self._pending = tuple(self._pending), {}
        return found


class Slims:
    """Slim skills for requests, and all streams of them, in one event loop."""

    def __init__(self, settings: Settings, live: Live) -> None:
        self._settings, self._live = settings, live
        self._life = secrets.token_hex(4) if settings.embedded else "kafka"
        self._followers: dict[bytes | None, set[Follower]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._step: Rank | None = None
        live.on_slim = self._on_slim

    def begin(self) -> None:
        """Notify streams in the event loop that runs now."""
        self._loop = asyncio.get_running_loop()

    def end(self) -> None:
        """End all streams."""
        for follower in [each for some in self._followers.values() for each in some]:
            follower.end()
        self._loop = None

    def find(self, user: str, domain: str, request: str | None, session: str | None) -> dict[str, Any] | None:
        """Return the slim skill of a user in a domain, if any.

        Likes that the `request` is about come first, as for a rank request. While the `session` lasts, `text` has what
        it adds.
        """
        self._live.check_ready()
        if not request:
            found = self._live.slim(user, domain)
        elif (skill := self._live.skill(user, domain)) is not None:
            self._step = self._step or rank_of(self._settings)
            found = self._step.extract(skill, request, self._live.shares(domain)).record
        else:
            found = None
        return None if found is None else shown(found, session)

    @contextmanager
    def follow(self, wanted: bytes | None) -> Iterator[Follower]:
        """Follow one key, or all, from now on."""
        follower = Follower()
        among = self._followers.setdefault(wanted, set())
        among.add(follower)
        try:
            yield follower
        finally:
            among.discard(follower)
            if not among:
                self._followers.pop(wanted, None)

    def place(self) -> Place:
        """Return the place of a stream that has had everything."""
        return Place(self._life, int(time.time() * 1000), dict(self._live.positions))

    def since(self, place: Place | None, wanted: bytes | None) -> list[bytes] | None:
        """Return the keys that changed or went since a place, or only the one wanted; None if that is not known."""
        if place is None or place.life != self._life or place.at_ms <= self._live.gone_after_ms:
            return None
        positions = self._live.positions
        is_ahead = any(offset > positions.get(partition, 0) for partition, offset in place.offsets.items())
        if is_ahead or time.time() * 1000 - place.at_ms > GONE_MS:
            return None
        return list(self._live.since(place.offsets, wanted))

    def _on_slim(self, key: bytes) -> None:
        """Wake the event loop, from the reading thread, if a stream follows the key."""
        loop = self._loop
        if loop is not None and (None in self._followers or key in self._followers):
            loop.call_soon_threadsafe(self._notify, key)

    def _notify(self, key: bytes) -> None:
        for follower in (*self._followers.get(None, ()), *self._followers.get(key, ())):
            follower.notify(key)


def shown(slim: SlimSkill, session: str | None = None, now: datetime | None = None) -> dict[str, Any]:
    """Return what a host gets of a slim skill: within the `session`, until it is over at `now`, with what it adds."""
    body = slim.model_dump(mode="json", exclude=INTERNAL)
    at = now or datetime.now(UTC)
    body["text"] = slim.text_at(at, session)
    body["lines"] = [line.model_dump() for line in slim.lines_at(at, session)]
    if not slim.is_within(at, session):
        body.pop("now", None)
        body.pop("session_id", None)
    elif slim.session_id is None and slim.session_until is not None:
        body["until"] = slim.session_until.isoformat()
    return body


def tag_of(body: bytes) -> str:
    """Return the entity tag of an answer: the same for the same bytes, whichever server answers."""
    return f'"{blake2b(body, digest_size=9).hexdigest()}"'


def is_same(condition: str | None, tag: str) -> bool:
    """Return True if an `If-None-Match` names this tag.

    >>> is_same('W/"a", "b"', '"b"'), is_same("*", '"b"'), is_same(None, '"b"')
    (True, True, False)
    """
    return any(each.strip().removeprefix("W/") in (tag, "*") for each in (condition or "").split(","))


def event(name: str, data: dict[str, Any]) -> bytes:
    """Return a server-sent event."""
    return b"event: " + name.encode() + b"\ndata: " + orjson.dumps(data) + b"\n\n"
