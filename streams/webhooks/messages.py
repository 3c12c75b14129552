"""Endpoints from the operator's file, and signed messages after Standard Webhooks."""

import base64
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

import aiohttp
import orjson
from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from standardwebhooks import Webhook

from schemas import BadRecord, DomainField, SlimSkill, UserIdField, decode, derived_id, moment_of
from streams.exceptions import StreamsError
from streams.http.limits import is_loopback
from streams.http.tokens import read_secrets

MAX_ENDPOINTS = 32
_SECRET = re.compile(r"whsec_[A-Za-z0-9+/]{32,86}={0,2}")  # 24 to 64 bytes in base64
# `RESET` makes a receiver drop all slim skills.
CHANGED, FORGOTTEN, RESET = "slim-skill.changed", "slim-skill.forgotten", "slim-skills.reset"
TIMEOUT_SECONDS = 10.0
_INTERNAL_FIELDS = {"event_id", "occurred_at", "schema_version", "seal"}  # internal fields of the record
_ACCEPTED, _CLIENT_ERRORS = range(200, 300), range(400, 500)
# Statuses of 4xx that concern the endpoint, not the message.
_RETRYABLE = frozenset({401, 403, 404, 408, 409, 410, 421, 425, 429})


class Endpoint(BaseModel):
    """A receiver of messages; a renamed one starts over."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,39}$")]
    url: Annotated[str, Field(max_length=2_000)]
    secret: SecretStr
    old_secret: SecretStr | None = None  # signs too
    # Only these; all if empty.
    domains: Annotated[frozenset[DomainField], Field(max_length=100)] = frozenset()
    users: Annotated[frozenset[UserIdField], Field(max_length=1_000)] = frozenset()
    allow_http: bool = False  # post unencrypted to other machines

    @field_validator("secret", "old_secret")
    @classmethod
    def _check_secret(cls, secret: SecretStr | None) -> SecretStr | None:
        if secret is not None and not _SECRET.fullmatch(secret.get_secret_value()):
            raise ValueError(
                "a secret is whsec_ and 24 to 64 bytes in base64: `sager webhooks --new-secret` prints one"
            )
        return secret

    @model_validator(mode="after")
    def _check_url(self) -> Self:
        try:
            parts = urlsplit(self.url)
            _ = parts.port
        except ValueError:
            raise ValueError("the url is invalid") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.fragment:
            raise ValueError("the url must be https://host/path, without a user or a fragment")
        if parts.scheme == "http" and not (self.allow_http or is_loopback(parts.hostname)):
            raise ValueError("the url must be https: set `allow_http = true` to send users' data unencrypted")
        return self

    def wants(self, user: str, domain: str) -> bool:
        """Return True if the endpoint gets messages about this user and domain."""
        return (not self.domains or domain in self.domains) and (not self.users or user in self.users)


class _EndpointsFile(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    endpoint: Annotated[tuple[Endpoint, ...], Field(min_length=1, max_length=MAX_ENDPOINTS)]

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        if len({each.name for each in self.endpoint}) < len(self.endpoint):
            raise ValueError("two endpoints have the same name")
        return self


def read(path: Path) -> tuple[Endpoint, ...]:
    """Return the endpoints of a file. Errors quote no secret."""
    found, wrong = read_secrets(path, _EndpointsFile)
    if found is None:
        raise StreamsError(f"SAGER_WEBHOOKS: {wrong}")
    return found.endpoint


def new_secret() -> str:
    """Return a random secret."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()


@dataclass(frozen=True, slots=True)
class Notification:
    """A record of slim skills; `value` is None if erased."""

    key: bytes
    value: bytes | None
    partition: int
    offset: int
    at_ms: int  # when it was written, in milliseconds since 1970

    @property
    def subject(self) -> tuple[str, str] | None:
        """The user and the domain; None for another key."""
        try:
            match orjson.loads(self.key):
                case [str(user), str(domain)]:
                    return user, domain
        except orjson.JSONDecodeError:
            pass
        return None

    def id_for(self, endpoint: str) -> str:
        """Return the message's id, the same for every attempt."""
        return f"msg_{derived_id(endpoint, str(self.partition), str(self.offset), str(self.at_ms))}"

    def body(self) -> bytes | None:
        """Return the message's body, unless the record is invalid."""
        if (subject := self.subject) is None:
            return None
        if self.value is None:
            return body_of(FORGOTTEN, moment_of(self.at_ms), {"user_id": subject[0], "domain": subject[1]})
        try:
            slim = decode(SlimSkill, self.value)
        except BadRecord:
            return None
        if (slim.user_id, slim.domain) != subject:
            return None
        return body_of(CHANGED, slim.occurred_at, slim.model_dump(mode="json", exclude=_INTERNAL_FIELDS))


class EndpointDown(Exception):
    """The endpoint accepts no messages at the moment."""


def body_of(kind: str, at: datetime, data: object) -> bytes:
    """Return the body of a message."""
    timestamp = at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return orjson.dumps({"type": kind, "timestamp": timestamp, "data": data})


def headers(endpoint: Endpoint, message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """Return an attempt's headers, with a signature by each secret."""
    keys = [secret.get_secret_value() for secret in (endpoint.secret, endpoint.old_secret) if secret is not None]
    return {
        "content-type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(Webhook(key).sign(message_id, at, body.decode()) for key in keys),
    }


def new_session() -> aiohttp.ClientSession:
    """Return a session without cookies and the environment's proxies."""
    return aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": "sager-streams"},
        auto_decompress=False,
        trust_env=False,
    )


async def post(session: aiohttp.ClientSession, endpoint: Endpoint, message_id: str, body: bytes) -> str:
    """Post once; return the refusal, or raise `EndpointDown`."""
    signed_headers = headers(endpoint, message_id, datetime.now(UTC), body)
    try:
        # Redirects can lead anywhere. The answer's body is not read.
        async with session.post(endpoint.url, data=body, headers=signed_headers, allow_redirects=False) as reply:
            return refusal_of(reply.status)
    except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
        raise EndpointDown(type(error).__name__) from None


def refusal_of(status: int) -> str:
    """Return the refusal of a status; empty if it accepts the message."""
    if status in _ACCEPTED:
        return ""
    if status in _CLIENT_ERRORS and status not in _RETRYABLE:
        return f"status {status}"
    raise EndpointDown(f"status {status}")
