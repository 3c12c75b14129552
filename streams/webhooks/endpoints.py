"""The operator's file of endpoints with their secrets; private addresses are allowed."""

import base64
import re
import secrets
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from schemas.base import DomainField, UserIdField
from streams.exceptions import StreamsError
from streams.http.limits import is_loopback
from streams.http.tokens import read_secrets

MAX_ENDPOINTS = 32
_SECRET = re.compile(r"whsec_[A-Za-z0-9+/]{32,86}={0,2}")  # 24 to 64 bytes in base64


class Endpoint(BaseModel):
    """A receiver of messages. A renamed endpoint is a new one: the name is part of its consumer group.

    `old_secret`: the previous one, which signs too. `domains`, `users`: only these; all if empty. `allow_http`: post
    unencrypted to other machines.
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
