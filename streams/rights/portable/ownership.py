"""Decides which records, and which parts of them, belong to a person: an export must not reveal another's data."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from pydantic_core import from_json

from operators.propagate import neighbour_of
from schemas import BadRecord, DeadLetter, ItemMemory, Key, Model, Topic, Touch, decode, subject_of
from streams.materializer.forgetting import Barrier
from streams.pseudonyms import SecretUnusable, secret_if_any
from streams.settings import Settings

OF_USERS = (Key.USER, Key.USER_AND_DOMAIN, Key.USER_AND_SLOT, Key.USER_AND_VERSION, Key.USER_DOMAIN_AND_VERSION)
"""Keys of topics whose records are on their user's partition."""
ABOUT_USERS = (*OF_USERS, Key.ITEM_AND_DOMAIN, Key.TAKER, Key.SUBJECT, Key.ORIGINAL)
"""Keys of topics that may name a user; the last four on any partition."""


@dataclass(frozen=True)
class Owner:
    """One person.

    `barrier`: the erasures that topics outlive until their retention has passed. `neighbour`: their pseudonym in items'
    memories; empty without the secret. `quoted`: their id in JSON, both in UTF-8 and escaped to ASCII.
    """

    user_id: str
    barrier: Barrier | None = None
    neighbour: str = ""
    quoted: tuple[bytes, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "quoted", (orjson.dumps(self.user_id), json.dumps(self.user_id).encode()))

    def owns(self, topic: Topic, key: bytes | None, value: bytes | None) -> bool:
        """Return True if a record is about this person: by its content or, without a user in it, by its key."""
        if topic.key is Key.SUBJECT:
            return key == subject_of(self.user_id).encode()
        if topic.key is Key.ORIGINAL:
            return self._is_letter(value)
        if topic.key in (Key.ITEM_AND_DOMAIN, Key.TAKER):
            return bool(value and self.neighbour and self.neighbour.encode() in value)
        is_keyed = self._is_key(topic, key)
        if value is None or not (is_keyed or any(each in value for each in self.quoted)):
            return value is None and is_keyed  # spares parsing the records of others
        user = _user_in(value)
        return user == self.user_id if user is not None else is_keyed

    def was_refused(self, key: bytes | None, value: bytes | None) -> bool:
        """Return True if a refused record, which may have any bytes, names this person."""
        user = _user_in(value or b"")
        if user is not None:
            return user == self.user_id
        named = (part for part in (key, value) if part is not None)
        return key == self.user_id.encode() or any(each in part for part in named for each in self.quoted)

    def has_forgotten(self, event: Model | None, logged_at: datetime | None) -> bool:
        """Return True if a record about them is from before their erasure; `event`: None for an unreadable record.

        Raises:
            BadRecord: it is from the future.
        """
        if self.barrier is None:
            return False
        if event is not None and self.barrier.covers(event, logged_at):
            return True
        if logged_at is None or hasattr(event, "occurred_at"):
            return False
        return self.barrier.covers_moment(self.user_id, getattr(event, "domain", None), logged_at)

    def part_of(self, event: Model, value: bytes) -> Any:
        """Return the part of a record with these bytes that is this person's, as JSON; None if there is none."""
        if isinstance(event, Touch) and event.taker != self.neighbour:
            return None
        if isinstance(event, ItemMemory):
            own = tuple(taker for taker in event.takers if taker.neighbour == self.neighbour)
            return event.model_copy(update={"takers": own}).model_dump(mode="json") if own else None
        return from_json(value)  # as sent, including fields that this release does not know

    def _is_letter(self, value: bytes | None) -> bool:
        try:
            letter = decode(DeadLetter, value)
        except BadRecord:
            return False
        return self.was_refused(letter.key, letter.value)

    def _is_key(self, topic: Topic, key: bytes | None) -> bool:
        if topic.key is Key.USER:
            return key == self.user_id.encode()
        try:
            parts = orjson.loads(key or b"")
        except ValueError:
            return False
        return isinstance(parts, list) and bool(parts) and parts[0] == self.user_id


def owner_of(settings: Settings, user_id: str, barrier: Barrier | None = None) -> Owner:
    """Return a person with their pseudonym in this deployment, if its secret can be read."""
    try:
        secret = secret_if_any(settings)
    except (OSError, SecretUnusable):
        secret = None
    return Owner(user_id, barrier, neighbour_of(user_id, secret) if secret else "")


def _user_in(value: bytes) -> str | None:
    """Return the user in a JSON object; None without one."""
    try:
        user = from_json(value).get("user_id")
    except (ValueError, AttributeError):
        return None
    return user if isinstance(user, str) else None
