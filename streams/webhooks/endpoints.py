"""The operator's file of endpoints, which holds secrets.

    [[endpoint]]
    name = "shop"
    url = "https://shop.example/hooks/sager"
    secret = "whsec_..."
    domains = ["films"]

Addresses are the operator's own choice, private ones too: nobody else can name one.
"""

import base64
import binascii
import ipaddress
import secrets
import tomllib
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from schemas.fields import DomainField, UserIdField
from streams.exceptions import StreamsError
from streams.http.tokens import too_open

MOST = 32
"""Endpoints of a deployment: what is committed for each must fit into Kafka's metadata of an offset."""
SECRET_PREFIX = "whsec_"  # noqa: S105 - what secrets begin with
MIN_SECRET_BYTES, MAX_SECRET_BYTES = 24, 64


class WebhooksUnusable(StreamsError, ValueError):
    """The file of endpoints is missing, accessible to others or invalid."""


class Endpoint(BaseModel):
    """Where to post, and what.

    Attributes:
        name: for logs, metrics and places; a renamed endpoint is a new one.
        url: where to post; `https`, or `http` on this machine or where `allow_http` says so.
        secret: the key of signatures, `whsec_` and 24 to 64 bytes in base64.
        old_secret: the one before, as long as receivers may still have it: messages bear both signatures.
        domains, users: only these; all if empty.
        allow_http: post unencrypted to other machines.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,39}$")]
    url: Annotated[str, Field(max_length=2_000)]
    secret: SecretStr
    old_secret: SecretStr | None = None
    domains: Annotated[frozenset[DomainField], Field(max_length=100)] = frozenset()
    users: Annotated[frozenset[UserIdField], Field(max_length=1_000)] = frozenset()
    allow_http: bool = False

    @field_validator("secret", "old_secret")
    @classmethod
    def _is_secret(cls, secret: SecretStr | None) -> SecretStr | None:
        if secret is not None:
            key_of(secret)
        return secret

    @model_validator(mode="after")
    def _is_reachable(self) -> Self:
        try:
            parts = urlsplit(self.url)
            _ = parts.port
        except ValueError:
            raise ValueError("the url is none") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.fragment:
            raise ValueError("the url must be https://host/path, without a user or a fragment")
        if parts.scheme == "http" and not (self.allow_http or _is_loopback(parts.hostname)):
            raise ValueError("the url must be https, or `allow_http = true` must say that people's data go unencrypted")
        return self

    @property
    def keys(self) -> tuple[bytes, ...]:
        """The keys to sign with, the newest first."""
        return tuple(key_of(each) for each in (self.secret, self.old_secret) if each is not None)

    def wants(self, user: str, domain: str) -> bool:
        """Whether it is to hear of this user and domain."""
        return (not self.domains or domain in self.domains) and (not self.users or user in self.users)


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    endpoint: Annotated[tuple[Endpoint, ...], Field(min_length=1, max_length=MOST)]

    @model_validator(mode="after")
    def _has_each_once(self) -> Self:
        if len({each.name for each in self.endpoint}) < len(self.endpoint):
            raise ValueError("two endpoints have one name")
        return self


def read(path: Path) -> tuple[Endpoint, ...]:
    """The endpoints of a file.

    Raises:
        WebhooksUnusable: it cannot be read, others can read it, or it is invalid. No secret is quoted.
    """
    try:
        wrong = too_open(path, path.stat().st_mode)
        if wrong:
            raise WebhooksUnusable(f"SAGER_WEBHOOKS: {wrong}")
        return _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).endpoint
    except OSError as error:
        raise WebhooksUnusable(f"SAGER_WEBHOOKS: {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WebhooksUnusable(f"SAGER_WEBHOOKS: {path} is not valid TOML: {error}") from None
    except ValidationError as error:
        told = error.errors(include_url=False, include_context=False, include_input=False)
        what = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in told[:3])
        raise WebhooksUnusable(f"SAGER_WEBHOOKS: {path}: {what}") from None


def fresh_secret() -> str:
    """A new random secret."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(MIN_SECRET_BYTES)).decode()


def key_of(secret: SecretStr) -> bytes:
    """The key that a secret stands for.

    Raises:
        ValueError: it is no secret of Standard Webhooks.
    """
    text = secret.get_secret_value()
    try:
        key = base64.b64decode(text.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not text.startswith(SECRET_PREFIX) or not MIN_SECRET_BYTES <= len(key) <= MAX_SECRET_BYTES:
        raise ValueError(
            f"a secret is {SECRET_PREFIX} and {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES} bytes in base64: "
            "`sager webhooks --new-secret` prints one"
        )
    return key


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
