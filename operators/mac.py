"""HMAC-SHA256, with the key's part of it computed once for a key.

A worker seals every version of every skill with the same few keys. `hmac.digest` sets a key up anew for each, and
OpenSSL looks its algorithms up anew: four fifths of what a seal takes.
"""

import hashlib
from functools import lru_cache
from typing import Any

_BLOCK_BYTES = 64
_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    """The same as `hmac.digest(key, message, "sha256")`, by RFC 2104.

    >>> hmac_sha256(b"Jefe", b"what do ya want for nothing?").hex()[:16]
    '5bdcc146bf60754e'
    """
    inner, outer = _keyed(key)
    within, around = inner.copy(), outer.copy()
    within.update(message)
    around.update(within.digest())
    return bytes(around.digest())


@lru_cache(maxsize=64)
def _keyed(key: bytes) -> tuple[Any, Any]:
    """The two hashes of RFC 2104 after their first block, which is the key's."""
    padded = (key if len(key) <= _BLOCK_BYTES else hashlib.sha256(key).digest()).ljust(_BLOCK_BYTES, b"\0")
    return hashlib.sha256(padded.translate(_INNER)), hashlib.sha256(padded.translate(_OUTER))
