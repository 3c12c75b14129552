"""The secret of the pseudonyms under which users meet in the graph: set, derived, or made once and kept."""

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
    """The data folder's secret is not whole."""


def secret_of(settings: Settings) -> bytes:
    """Return the secret; where none is set, the data folder's own, made now if it has none yet.

    Workers with one data folder have one secret. Those on several machines need `SAGER_PSEUDONYM_KEY` or
    `SAGER_CHAIN_KEY`, or each gives a user another name.
    """
    found = find_secret(settings)
    if found is None:
        _make(settings.data_dir / FILE)
        found = find_secret(settings)
    return found or b""


def find_secret(settings: Settings) -> bytes | None:
    """Return the secret, if one is set or the data folder has one."""
    chosen = settings.pseudonym_key or settings.chain_key
    try:
        secret = chosen.get_secret_value().encode() if chosen else _read(settings.data_dir / FILE)
    except FileNotFoundError:
        return None
    return derived_key(secret, "pseudonyms")


def ranking_key(settings: Settings) -> bytes:
    """Return the secret that seals rankings: the chain key, which other processes know too, else that of pseudonyms."""
    return settings.chain_key_bytes or secret_of(settings)


def find_ranking_key(settings: Settings) -> bytes | None:
    """Return the secret that seals rankings; None where this process has none, or may not read it."""
    try:
        return settings.chain_key_bytes or find_secret(settings)
    except PermissionError:  # the worker runs as another system user, which alone may read the secret
        return None


def is_shared(settings: Settings) -> bool:
    """Return True if all workers have the secret, wherever they run."""
    return settings.embedded or bool(settings.pseudonym_key) or bool(settings.chain_key)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        secret = file.read().strip()
        found = os.fstat(file.fileno())
        if stat.S_IMODE(found.st_mode) & 0o077 and found.st_uid == os.geteuid():
            # Put back from a copy, perhaps. Not even the data folder's group may compute pseudonyms.
            os.fchmod(file.fileno(), 0o600)
    if len(secret) < 2 * _BYTES:
        raise SecretUnusable(
            f"{path} is empty or cut short, and anyone could compute pseudonyms: put it back from a copy, or remove it "
            "to have a new one"
        )
    return secret


def _make(path: Path) -> None:
    """Make the file whole or not at all, and only once: other workers may do the same."""
    permissions.make_private(path.parent)
    descriptor, name = tempfile.mkstemp(prefix=FILE, dir=path.parent)  # its owner alone may read it
    with os.fdopen(descriptor, "w") as file:
        file.write(secrets.token_hex(_BYTES))
        file.flush()
        os.fsync(file.fileno())
    try:
        with suppress(FileExistsError):  # another was first
            os.link(name, path)
    finally:
        Path(name).unlink()
