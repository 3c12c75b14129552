"""Whom a shadow arm follows, and from when on: a share of users that their names decide, the same in every worker."""

from collections.abc import Mapping
from hashlib import blake2b

import orjson

from operators.applied import is_applied
from schemas import PolicySkill, ShadowSkill

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


def is_behind(state: ShadowSkill, live: PolicySkill, *told: str) -> bool:
    """Whether a shadow must start again from the live skill, because it would say what the person took back.

    Args:
        state: the shadow, which has come to all that is before the event in hand.
        live: the live skill before this event.
        told: the full names of the topics on which a person says what is to be, of commands above all.
    """
    if live.version < state.live_version:  # it was forgotten since
        return True
    said = (held for held in live.applied if held.topic in told)
    return not all(is_applied(state.skill.applied, held) for held in said)
