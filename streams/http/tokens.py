"""Tokens: random, stored only as a hash, each with a name, scopes and optionally a user and an expiry.

They are in a TOML file that is reread when it changes: removing a token's lines revokes it.

    [[token]]
    name = "console"
    sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    scopes = ["read-all"]
"""

import hashlib
import hmac
import logging
import re
import secrets
import stat
import tomllib
from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from schemas.fields import Label, UserIdField, UtcDatetime
from streams.http.exceptions import TokensUnusable

EVERYBODY = "*"
"""In place of a user: the token may act for all users."""
FORM = re.compile(r"sager_[A-Za-z0-9_-]{43}")
"""32 random bytes. Anything of another form is refused without a look-up, so that nobody can choose a weak token."""
RANDOM_BYTES = 32
_OPEN_TO_OTHERS = stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP

logger = logging.getLogger("sager.http")


class Scope(StrEnum):
    """What a token permits."""

    READ_USER = "read-user"
    READ_ALL = "read-all"
    CHANGE_USER = "change-user"
    FORGET_USER = "forget-user"
    PRODUCE = "produce"
    READ_SLIM = "read-slim"
    OPERATE = "operate"


OF_A_USER = frozenset({Scope.READ_USER, Scope.CHANGE_USER, Scope.FORGET_USER, Scope.PRODUCE, Scope.READ_SLIM})


class Token(BaseModel):
    """The stored facts of a token.

    Attributes:
        name: the actor in whose name changes are made.
        sha256: the token's hash, in hexadecimal.
        scopes: what it permits.
        user: the user that its scopes apply to; EVERYBODY for an app that acts for all.
        expires: when it ceases to be valid.
        rate: its own limit, in requests a second; None for that of all.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Label
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    scopes: Annotated[frozenset[Scope], Field(min_length=1)]
    user: UserIdField | None = None
    expires: UtcDatetime | None = None
    rate: Annotated[float, Field(gt=0, le=1_000_000)] | None = None

    @model_validator(mode="after")
    def _names_its_user(self) -> Self:
        about_one = bool(self.scopes & OF_A_USER)
        if about_one is not (self.user is not None):
            raise ValueError(
                f"{', '.join(sorted(self.scopes & OF_A_USER))} need a user, or {EVERYBODY!r} for all"
                if about_one
                else f"only {', '.join(sorted(OF_A_USER))} take a user"
            )
        return self

    def may(self, scope: Scope, user: str) -> bool:
        """Whether it has the scope, and for this user where the scope is about one; EVERYBODY asks for all."""
        return scope in self.scopes and (scope not in OF_A_USER or self._is_about(user))

    def may_read(self, user: str) -> bool:
        """Whether it may read this user's data."""
        return self.may(Scope.READ_ALL, user) or self.may(Scope.READ_USER, user)

    def may_change(self, user: str) -> bool:
        """Whether it may change this user's skills."""
        return self.may(Scope.CHANGE_USER, user)

    def _is_about(self, user: str) -> bool:
        return self.user in (EVERYBODY, user)


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    token: tuple[Token, ...] = ()

    @model_validator(mode="after")
    def _has_each_once(self) -> Self:
        if len({token.sha256 for token in self.token}) < len(self.token):
            raise ValueError("the same sha256 appears twice")
        return self


class TokensFile:
    """The current tokens of a file.

    Args:
        path: the file; it may change at any time.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, ...] = ()
        self._tokens: tuple[Token, ...] = ()
        self._wrong = ""

    def all(self) -> tuple[Token, ...]:
        """All tokens, including expired ones.

        Raises:
            TokensUnusable: the file is invalid. Its former content is void, or a revoked token would stay valid.
        """
        before = self._wrong
        try:
            found = self._path.stat()
            seen = (found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode)
            if seen != self._seen:
                self._tokens, self._wrong = (), too_open(self._path, found.st_mode)
                if not self._wrong:
                    self._read()
                self._seen = seen
        except OSError as error:
            self._seen, self._wrong = (), f"{self._path} cannot be read: {error.strerror}"
        if self._wrong and self._wrong != before:
            logger.error("no request is accepted: %s", self._wrong)
        if self._wrong:
            raise TokensUnusable(f"SAGER_HTTP_TOKENS: {self._wrong}")
        return self._tokens

    def _read(self) -> None:
        try:
            self._tokens = _File.model_validate(tomllib.loads(self._path.read_text(encoding="utf-8"))).token
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            self._wrong = f"{self._path} is not valid TOML: {error}"
        except ValidationError as error:
            told = error.errors(include_url=False, include_context=False, include_input=False)
            self._wrong = f"{self._path}: " + "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in told[:3])


def too_open(path: Path, mode: int) -> str:
    """What is wrong with the permissions of a file of secrets; empty if nothing is."""
    if mode & _OPEN_TO_OTHERS:
        return f"{path} is readable by everybody, or writable by others than its owner: chmod 640 {path}, or 600"
    return ""


def find(tokens: tuple[Token, ...], presented: str, now: datetime | None = None) -> Token | None:
    """The entry of the presented token; None if there is none, or it has expired.

    Compares every entry in constant time: the time taken reveals nothing about a guess.
    """
    shown = hash_of(presented)
    found = None
    for token in tokens:
        if hmac.compare_digest(token.sha256, shown):
            found = token
    if found is None or not FORM.fullmatch(presented):
        return None
    expired = found.expires is not None and found.expires <= (now or datetime.now(UTC))
    return None if expired else found


def hash_of(token: str) -> str:
    """The hash that a token is stored as."""
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()


def new(
    name: str, scopes: Iterable[str], user: str | None, expires: datetime | None, rate: float | None = None
) -> tuple[str, Token]:
    """A new token, and its entry for the tokens file.

    Raises:
        ValidationError: the name, the scopes and the user do not fit together.
    """
    secret = f"sager_{secrets.token_urlsafe(RANDOM_BYTES)}"
    known: dict[str, Any] = {"name": name, "sha256": hash_of(secret), "scopes": list(scopes), "user": user}
    return secret, Token.model_validate({**known, "expires": expires, "rate": rate})


def as_toml(token: Token) -> str:
    """The entry's lines for the tokens file."""
    lines = [
        "[[token]]",
        f"name = {_quoted(token.name)}",
        f'sha256 = "{token.sha256}"',
        f"scopes = [{', '.join(_quoted(scope) for scope in Scope if scope in token.scopes)}]",
    ]
    if token.user is not None:
        lines.append(f"user = {_quoted(token.user)}")
    if token.rate is not None:
        lines.append(f"rate = {token.rate:g}")
    if token.expires is not None:
        lines.append(f"expires = {token.expires.isoformat(timespec='seconds')}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    r"""The text as a TOML basic string.

    >>> _quoted('say "so"')
    '"say \\"so\\""'
    """
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
