"""Tokens: random secrets with scopes, and optionally a user and an expiry.

The TOML file stores their hashes. The server rereads it when it changes, so removing an entry revokes its token.

    [[token]]
    name = "console"
    sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    scopes = ["read-all"]
"""

import hashlib
import hmac
import json
import logging
import re
import secrets
import stat
import tomllib
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from schemas.base import Label, UserIdField, UtcDatetime
from streams.exceptions import StreamsError

ALL_USERS = "*"  # as a token's user: it may act for all
# 32 random bytes. Others are refused, so that no operator can choose a weak token.
TOKEN_PATTERN = re.compile(r"sager_[A-Za-z0-9_-]{43}")
_OPEN_TO_OTHERS = stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP

FileT = TypeVar("FileT", bound=BaseModel)

logger = logging.getLogger("sager.http")


class TokensUnusable(StreamsError, ValueError):
    """The tokens file is missing, invalid or accessible to others."""


class TokenScope(StrEnum):
    """A permission of a token."""

    READ_USER = "read-user"
    READ_ALL = "read-all"
    CHANGE_USER = "change-user"
    FORGET_USER = "forget-user"
    PRODUCE = "produce"
    READ_SLIM = "read-slim"
    OPERATE = "operate"


Scope = TokenScope
USER_SCOPES = frozenset({Scope.READ_USER, Scope.CHANGE_USER, Scope.FORGET_USER, Scope.PRODUCE, Scope.READ_SLIM})


class Token(BaseModel):
    """An entry of the tokens file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Label  # the actor recorded with changes
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    scopes: Annotated[frozenset[Scope], Field(min_length=1)]
    user: UserIdField | None = None  # `ALL_USERS` for an app that acts for all
    expires: UtcDatetime | None = None
    rate: Annotated[float, Field(gt=0, le=1_000_000)] | None = None  # requests a second; None: the common limit

    @model_validator(mode="after")
    def _names_its_user(self) -> Self:
        about_one = bool(self.scopes & USER_SCOPES)
        if about_one and self.user is None:
            raise ValueError(f"{', '.join(sorted(self.scopes & USER_SCOPES))} need a user, or {ALL_USERS!r} for all")
        if not about_one and self.user is not None:
            raise ValueError(f"only {', '.join(sorted(USER_SCOPES))} take a user")
        return self

    def allows(self, scope: Scope, user: str) -> bool:
        """Return True if it has the scope, for this user or `ALL_USERS`."""
        return scope in self.scopes and (scope not in USER_SCOPES or self.user in (ALL_USERS, user))

    def can_read(self, user: str) -> bool:
        """Return True if it may read the data of this user."""
        return self.allows(Scope.READ_ALL, user) or self.allows(Scope.READ_USER, user)

    def is_expired(self, now: datetime | None = None) -> bool:
        """Return True after its expiry."""
        return self.expires is not None and self.expires <= (now or datetime.now(UTC))


class _TokensToml(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    token: tuple[Token, ...] = ()

    @model_validator(mode="after")
    def _has_no_duplicates(self) -> Self:
        if len({token.sha256 for token in self.token}) < len(self.token):
            raise ValueError("the same sha256 appears twice")
        return self


class TokensFile:
    """Reads the tokens file, again after each change."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, ...] = ()
        self._tokens: tuple[Token, ...] = ()
        self._wrong = ""

    def all(self) -> tuple[Token, ...]:
        """Return all tokens; raise TokensUnusable while the file is invalid."""
        # Older tokens are not kept meanwhile: a revoked one would stay valid.
        seen: tuple[int, ...] = ()
        with suppress(OSError):  # `read_secrets` reports it
            found = self._path.stat()
            seen = (found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode)
        if not seen or seen != self._seen:
            before = self._wrong
            file, self._wrong = read_secrets(self._path, _TokensToml)
            self._tokens, self._seen = (() if file is None else file.token), seen
            if self._wrong and self._wrong != before:
                logger.error("no request is accepted: %s", self._wrong)
        if self._wrong:
            raise TokensUnusable(f"SAGER_HTTP_TOKENS: {self._wrong}")
        return self._tokens


def read_secrets(path: Path, kind: type[FileT]) -> tuple[FileT | None, str]:
    """Return a TOML file's content, or the reason why it is unusable."""
    try:
        if path.stat().st_mode & _OPEN_TO_OTHERS:
            wrong = "is readable by all users, or writable by others than its owner"
            return None, f"{path} {wrong}: chmod 640 {path}, or 600"
        return kind.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))), ""
    except OSError as error:
        return None, f"{path} cannot be read: {error.strerror}"
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        return None, f"{path} is not valid TOML: {error}"
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)[:3]
        faults = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found)
        return None, f"{path}: {'; '.join(faults)}"


def find_token(tokens: tuple[Token, ...], presented: str, now: datetime | None = None) -> Token | None:
    """Return the valid entry of a token, if any, in constant time."""
    presented_hash = token_hash(presented)
    found = None
    for token in tokens:
        if hmac.compare_digest(token.sha256, presented_hash):
            found = token
    return None if found is None or found.is_expired(now) or not TOKEN_PATTERN.fullmatch(presented) else found


def token_hash(token: str) -> str:
    """Return the hash under which a token is stored."""
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()


def new_token(
    name: str, scopes: Iterable[str], user: str | None, expires: datetime | None, rate: float | None = None
) -> tuple[str, Token]:
    """Return a new secret and its entry."""
    secret = f"sager_{secrets.token_urlsafe(32)}"
    known: dict[str, Any] = {"name": name, "sha256": token_hash(secret), "scopes": list(scopes), "user": user}
    return secret, Token.model_validate({**known, "expires": expires, "rate": rate})


def token_toml(token: Token) -> str:
    """Return the lines of an entry."""
    # A JSON string is a TOML basic string too.
    values = {
        "name": json.dumps(token.name, ensure_ascii=False),
        "sha256": json.dumps(token.sha256),
        "scopes": json.dumps([scope for scope in Scope if scope in token.scopes]),
        "user": token.user and json.dumps(token.user, ensure_ascii=False),
        "rate": token.rate and f"{token.rate:g}",
        "expires": token.expires and token.expires.isoformat(timespec="seconds"),
    }
    return "".join(["[[token]]\n", *(f"{name} = {value}\n" for name, value in values.items() if value)])
