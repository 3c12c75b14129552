"""Slim skills as hosts get them over HTTP: for a request and a session, and as they change."""

import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from hashlib import blake2b
from typing import Any

import orjson

from operators.steps.rank import Rank
from schemas import SlimSkill, compound_key
from streams.http.live import Held, Live, slim_of
from streams.http.problems import Problem
from streams.http.subscribers import Subscribers
from streams.lru import LruCache
from streams.settings import Settings
from streams.steps import rank_of

OURS = {"event_id", "occurred_at", "schema_version", "seal", "session_text", "session_until"}
"""Fields of the record that say nothing to a host."""
TAG_BYTES = 9
KEPT = 20_000
"""Answers that are kept as bytes, some 10 MB."""
STARTING = Problem(503, "the slim skills are being read: try again", {"Retry-After": "1"})


@dataclass(frozen=True, slots=True)
class Answer:
    """A slim skill as bytes.

    Attributes:
        held: the record that it was made of.
        body: JSON.
        tag: its entity tag.
    """

    held: Held
    body: bytes
    tag: bytes


class Slims:
    """Slim skills for requests, and who is told of new ones.

    Args:
        settings: how slim skills are made.
        live: where they are.
    """

    def __init__(self, settings: Settings, live: Live) -> None:
        self._settings, self._live = settings, live
        self.subscribers = Subscribers(live, keeps=not settings.embedded)
        self._answers = LruCache[bytes, Answer](KEPT)
        self._changing = threading.Lock()
        live.on_slim(lambda _, key, __: self._drop(key))  # what is forgotten stays nowhere

    @cached_property
    def _step(self) -> Rank:
        return rank_of(self._settings)

    def begin(self) -> None:
        """Has news brought to the event loop that runs now."""
        self.subscribers.begin()

    def end(self) -> None:
        """Ends all streams."""
        self.subscribers.end()

    def answer(self, user: str, domain: str) -> "Answer | None":
        """The slim skill as it is on the topic, ready to be sent; None where nothing is known, or not yet."""
        key = compound_key(user, domain)
        held = self._live.slims.get(key)
        if held is None or not self._live.is_ready:
            return None
        with self._changing:
            known = self._answers.get(key)
        if known is not None and known.held is held:
            return known
        found = slim_of(key, held)
        if found is None:
            return None
        body = orjson.dumps(shown(found))
        made = Answer(held, body, tag_of(body).encode())
        if found.session_id is None and found.session_until is not None:
            return made  # words for now end by the clock: an answer that is kept would outlive them
        with self._changing:
            # It may have been replaced or forgotten meanwhile, and dropped before it was there.
            if self._live.slims.get(key) is held:
                self._answers.put(key, made)
        return made

    def _drop(self, key: bytes) -> None:
        """In the reading thread, once the record is replaced or gone."""
        with self._changing:
            self._answers.drop(key)

    def of(self, user: str, domain: str, request: str | None, session: str | None) -> bytes | None:
        """The slim skill as JSON; None where nothing is known.

        Args:
            user: whose.
            domain: in which.
            request: what the person asks for now: likes that it is about come first, as for a rank request. Without,
                the slim skill is the one on the topic.
            session: a session: while it lasts, `text` has what it adds.

        Raises:
            Problem: the topics have not been read yet.
        """
        if not self._live.is_ready:
            raise STARTING
        if request:
            skill = self._live.skill(user, domain)
            found = None if skill is None else self._step.extract(skill, request, self._live.shares(domain)).record
        else:
            found = self._live.slim(user, domain)
        return None if found is None else orjson.dumps(shown(found, session))


def shown(slim: SlimSkill, session: str | None = None, now: datetime | None = None) -> dict[str, Any]:
    """What a host gets of a slim skill: `text` is what to put into its prompt.

    Args:
        slim: the record.
        session: the session that the host is in; within it, and until it is over, the text has what it adds.
        now: for that; by default the time it is.
    """
    body = slim.model_dump(mode="json", exclude=OURS)
    at = now or datetime.now(UTC)
    body["text"] = slim.text_at(at, session)
    if not slim.is_within(at, session):
        body.pop("now", None)
        body.pop("session_id", None)
    elif slim.session_id is None and slim.session_until is not None:
        body["until"] = slim.session_until.isoformat()
    return body


def tag_of(body: bytes) -> str:
    """The entity tag of an answer: the same for the same bytes, whichever server answers.

    >>> tag_of(b"{}") == tag_of(b"{}")
    True
    """
    return f'"{blake2b(body, digest_size=TAG_BYTES).hexdigest()}"'


def is_same(condition: str | None, tag: str) -> bool:
    """Whether an `If-None-Match` names this tag.

    >>> is_same('W/"a", "b"', '"b"'), is_same("*", '"b"'), is_same(None, '"b"')
    (True, True, False)
    """
    if condition is None:
        return False
    return any(each.strip().removeprefix("W/") in (tag, "*") for each in condition.split(","))
