"""Fingerprints of settings that a deployment's processes must share.

A materializer without the workers' chain key would readmit erased events; one without their privacy settings would keep
rows that they refuse.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic_core import to_json

from streams.metrics import SHARED_SETTINGS
from streams.settings import Settings

EVERY = ("prefix", "partitions")
FILTERS = (*EVERY, "chain_key", "privacy", "sensitive", "parsers")
# Settings that must agree: of every process, of those that keep rows, and of workers and the HTTP API.
ALL = (*FILTERS, "pseudonym_key", "vouched", "numbers")
_ROUNDS = 200_000  # makes each guess at a weak secret cost a tenth of a second


def fingerprint(settings: Settings, name: str) -> str:
    """Return a short digest of a setting's value, or `unset`."""
    value: Any = getattr(settings, name)
    if value is None or (isinstance(value, SecretStr) and not value):
        return "unset"
    if isinstance(value, SecretStr):
        digest = hashlib.pbkdf2_hmac("sha256", value.get_secret_value().encode(), name.encode(), _ROUNDS)
    else:
        digest = hashlib.sha256(_canonical(value)).digest()
    return digest.hex()[:8]


def _canonical(value: Any) -> bytes:
    if isinstance(value, Path):
        return value.read_bytes()
    if isinstance(value, Mapping):
        value = {key: sorted(each) if isinstance(each, frozenset) else each for key, each in sorted(value.items())}
    return to_json(value)


def publish(settings: Settings, names: Sequence[str]) -> None:
    """Publish the fingerprints of the settings that this process uses."""
    SHARED_SETTINGS.clear()
    for name in names:
        SHARED_SETTINGS.labels(setting=name, fingerprint=fingerprint(settings, name)).set(1)
