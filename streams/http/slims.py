"""Slim skills as hosts get them over HTTP: for a request and a session, and as streams of changes."""

import secrets
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from operators.steps.rank import Rank
from schemas import SlimSkill
from streams.http.live import CHANGES_MS, Live
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


class Slims:
    """Slim skills for requests, and the places of streams. `is_over` ends all streams."""

    def __init__(self, settings: Settings, live: Live) -> None:
        self._settings, self._live = settings, live
        self._life = secrets.token_hex(4) if settings.embedded else "kafka"
        self._step: Rank | None = None
        self.is_over = False

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

    def place(self) -> Place:
        """Return the place of a stream that has had everything."""
        return Place(self._life, int(time.time() * 1000), dict(self._live.positions))

    def since(self, place: Place | None) -> list[bytes] | None:
        """Return the keys that changed or went since a place; None if that is not known."""
        if place is None or place.life != self._life or time.time() * 1000 - place.at_ms > CHANGES_MS:
            return None
        positions = self._live.positions
        is_ahead = any(offset > positions.get(partition, 0) for partition, offset in place.offsets.items())
        return None if is_ahead else self._live.since(place.offsets)


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
