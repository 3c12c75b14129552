"""The secret of the graph's pseudonyms: configured, or in the data folder."""

import os
import secrets
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from operators.seals import derived_key
from streams import permissions
from streams.exceptions import StreamsError
from streams.settings import Settings

FILE = "pseudonyms.key"  # in the data folder; readable by its owner alone
_BYTES = 32


class SecretUnusable(StreamsError, ValueError):
    """The data folder's secret is incomplete."""


def secret_of(settings: Settings) -> bytes:
    """Return the configured secret, or the data folder's, created if missing.

    Workers on several machines need `SAGER_PSEUDONYM_KEY` or `SAGER_CHAIN_KEY`: otherwise their pseudonyms differ.
    """
    found = find_secret(settings)
    if found is None:
        _make(settings.data_dir / FILE)
        found = find_secret(settings)
    return found or b""


def find_secret(settings: Settings) -> bytes | None:
    """Return the secret; None if there is none yet."""
    chosen = settings.pseudonym_key or settings.chain_key
    try:
        secret = chosen.get_secret_value().encode() if chosen else _read(settings.data_dir / FILE)
    except FileNotFoundError:
        return None
    return derived_key(secret, "pseudonyms")


def ranking_key(settings: Settings) -> bytes:
    """Return the secret that seals rankings."""
    return settings.chain_key_bytes or secret_of(settings)


def find_ranking_key(settings: Settings) -> bytes | None:
    """Return the secret that seals rankings; None if this process lacks it."""
    try:
        return settings.chain_key_bytes or find_secret(settings)
    except PermissionError:  # only the worker's system user may read it
        return None


def is_shared(settings: Settings) -> bool:
    """Return True if workers on all machines have the secret."""
    return settings.embedded or bool(settings.pseudonym_key) or bool(settings.chain_key)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        secret = file.read().strip()
        found = os.fstat(file.fileno())
        if stat.S_IMODE(found.st_mode) & 0o077 and found.st_uid == os.geteuid():
            # A restored copy may be too open: not even the data folder's group may compute pseudonyms.
            os.fchmod(file.fileno(), 0o600)
    if len(secret) < 2 * _BYTES:
        raise SecretUnusable(
            f"{path} is empty or cut short, and anyone could compute pseudonyms: put it back from a copy, or remove it "
            "to have a new one"
        )
    return secret


def _make(path: Path) -> None:
    """Create the file atomically, and only once: other workers may race."""
    permissions.make_private(path.parent)
    descriptor, name = tempfile.mkstemp(prefix=FILE, dir=path.parent)  # readable by its owner only
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(_BYTES))
        file.flush()
        os.fsync(file.fileno())
    try:
        with suppress(FileExistsError):  # another worker was first
            os.link(name, path)
    finally:
        Path(name).unlink()
