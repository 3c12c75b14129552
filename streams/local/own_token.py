"""The token of `sager up`: one that may do everything, for whoever may read the data folder, which is its owner."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from streams.http import tokens
from streams.http.tokens import EVERYBODY, Scope, TokensFile, TokensUnusable

NAME = "local"
TOKEN_FILE, TOKENS_FILE = "token", "tokens.toml"
RATE = 5_000.0
"""Requests a second: one machine's own apps are no strangers."""


@dataclass(frozen=True)
class OwnToken:
    """The token and where it is.

    Attributes:
        secret: the token.
        file: has it, for scripts.
        tokens: the tokens file with its hash, for the server.
    """

    secret: str
    file: Path
    tokens: Path


def own_token(folder: Path) -> OwnToken:
    """The token of a data folder, made at the first start and kept.

    Args:
        folder: the data folder, which is closed to others.
    """
    file, known = folder / TOKEN_FILE, folder / TOKENS_FILE
    secret = file.read_text(encoding="ascii").strip() if file.exists() else ""
    if not _is_good(secret, known):
        secret, made = tokens.new(NAME, tuple(Scope), EVERYBODY, None, RATE)
        _write(known, tokens.as_toml(made))
        _write(file, secret + "\n")
    return OwnToken(secret, file, known)


def _is_good(secret: str, known: Path) -> bool:
    """Whether the token is in the tokens file with every scope that there is by now."""
    try:
        found = tokens.find(TokensFile(known).all(), secret, datetime.now(UTC)) if secret else None
    except TokensUnusable:
        return False
    return found is not None and found.scopes == frozenset(Scope) and found.user == EVERYBODY


def _write(file: Path, text: str) -> None:
    fresh = file.with_suffix(".new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as out:
        out.write(text)
    fresh.rename(file)
