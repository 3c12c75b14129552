"""Whom a shadow arm follows: a share of users that their names decide, the same in every worker and after a restart."""

from collections.abc import Mapping
from hashlib import blake2b

import orjson

_WHOLE = 2**64


def in_share(user_id: str, arm: str, share: float) -> bool:
    """Whether this user is among the share of the arm. Another arm draws others.

    >>> in_share("ann", "bold", 1.0), in_share("ann", "bold", 0.0)
    (True, False)
    """
    drawn = int.from_bytes(blake2b(orjson.dumps([arm, user_id]), digest_size=8).digest(), "big")
    return drawn < share * _WHOLE


def fingerprint(changed: Mapping[str, object]) -> str:
    """Another one whenever an arm changes something else.

    >>> fingerprint({"a": "1", "b": "2"}) == fingerprint({"b": "2", "a": "1"})
    True
    """
    return blake2b(orjson.dumps({name: str(changed[name]) for name in sorted(changed)}), digest_size=8).hexdigest()
