"""What is posted: the body of a message, its id, and its signature after Standard Webhooks."""

import base64
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson

from schemas import BadRecord, SlimSkill, decode, derived_id, moment_of

CHANGED, FORGOTTEN, RESET = "slim-skill.changed", "slim-skill.forgotten", "slim-skills.reset"
_OURS = {"event_id", "occurred_at", "schema_version", "seal"}
"""Fields of the record that say nothing to a host."""


@dataclass(frozen=True, slots=True)
class News:
    """A record of the topic of slim skills.

    Attributes:
        key: its key, which names the user and the domain.
        value: its value; None: there is no slim skill any more.
        partition, offset: where it was.
        at_ms: when it was written, in milliseconds since 1970.
        heard_ms: when it was first read here.
    """

    key: bytes
    value: bytes | None
    partition: int
    offset: int
    at_ms: int
    heard_ms: int = 0

    @property
    def about(self) -> tuple[str, str] | None:
        """The user and the domain; None where the key names none."""
        try:
            match orjson.loads(self.key):
                case [str(user), str(domain)]:
                    return user, domain
        except orjson.JSONDecodeError:
            pass
        return None


def message_id(endpoint: str, news: News) -> str:
    """The same for every attempt, so that a receiver knows a repetition."""
    return f"msg_{derived_id(endpoint, str(news.partition), str(news.offset), str(news.at_ms))}"


def body_of(news: News) -> bytes | None:
    """The body of a message; None for a record that is no slim skill, which the materializer reports."""
    about = news.about
    if about is None:
        return None
    user, domain = about
    if news.value is None:
        return _body(FORGOTTEN, moment_of(news.at_ms), {"user_id": user, "domain": domain})
    try:
        slim = decode(SlimSkill, news.value)
    except BadRecord:
        return None
    if (slim.user_id, slim.domain) != about:
        return None
    return _body(CHANGED, slim.occurred_at, slim.model_dump(mode="json", exclude=_OURS))


def reset_body(now: datetime) -> bytes:
    """The body that has a receiver drop all that it holds: everything follows."""
    return _body(RESET, now, {})


def headers(keys: Iterable[bytes], ident: str, seconds: int, body: bytes) -> dict[str, str]:
    """The headers of a message.

    Args:
        keys: one signature for each.
        ident: the message's id.
        seconds: when this attempt is made, in seconds since 1970; receivers refuse what is old.
        body: the body.
    """
    said = b"%s.%d.%s" % (ident.encode(), seconds, body)
    signatures = [base64.b64encode(hmac.digest(key, said, "sha256")).decode() for key in keys]
    return {
        "content-type": "application/json",
        "webhook-id": ident,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(f"v1,{each}" for each in signatures),
    }


def _body(kind: str, at: datetime, data: object) -> bytes:
    told = at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return orjson.dumps({"type": kind, "timestamp": told, "data": data})
