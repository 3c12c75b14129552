"""Seals of single records: rankings, slim skills, receipts, weights. Versions of a log: `operators.chain`.

A seal is an HMAC-SHA256 over the record's canonical JSON. Each kind of record has a key of its own, derived from the
deployment's secret, so that the seal of one kind is never one of another. Without a secret anybody can make a seal: it
then detects careless edits only.
"""

import hmac
import json
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar

import orjson

from schemas import Injected, Model, RankedBy, Ranking, Receipt, SlimSkill, Weights

Sealed = Ranking | SlimSkill | Receipt | Weights
SealedT = TypeVar("SealedT", Ranking, SlimSkill, Receipt, Weights)

_NOTHING = Injected()
_OUR_FIELDS = {
    name: getattr(_NOTHING, name)
    for name in ("rank_skill", "companions", "weights_version", "features", "fit", "memory_version", "graph_epoch")
}
"""Fields of `Injected` that only our ranker sets, with their defaults. An app may set the others."""


class Seal(StrEnum):
    """What a record's seal says of it."""

    RIGHT = "right"
    MISSING = "missing"
    """It has none."""
    WRONG = "wrong"
    """It is not what was sealed, or was sealed with another key."""


def sealed(record: SealedT, key: bytes = b"") -> SealedT:
    """The record with its seal; one that it bears is replaced."""
    return record.model_copy(update={"seal": _seal(record, key)})


def seal_of(record: Sealed, key: bytes = b"") -> Seal:
    """What the record's seal says of it."""
    if record.seal is None:
        return Seal.MISSING
    try:
        expected = _seal(record, key)
    except orjson.JSONEncodeError:
        return Seal.WRONG  # a number that no writer of ours seals: it must not end the thread that reads the topic
    return Seal.RIGHT if hmac.compare_digest(record.seal, expected) else Seal.WRONG


def authenticated(ranking: Ranking, key: bytes | None) -> Ranking:
    """Return the ranking without the fields that its writer may not set.

    Any writer of rankings can claim to be our ranker, whose features move a domain's weights for all users. Without the
    seal the claim is void: the ranking counts as the app's own, with an empty `injected`.

    Args:
        ranking: as read from its topic.
        key: the secret of the ranker's seals. A process without a secret passes None and accepts any seal.
    """
    is_proven = ranking.seal is not None if key is None else seal_of(ranking, key) is Seal.RIGHT
    if ranking.ranked_by is RankedBy.SAGER:
        if is_proven:
            return ranking
        return ranking.model_copy(update={"ranked_by": RankedBy.APP, "injected": _NOTHING, "seal": None})
    stated = ranking.injected
    if any(getattr(stated, name) != default for name, default in _OUR_FIELDS.items()):
        stated = stated.model_copy(update=_OUR_FIELDS)
    if stated is ranking.injected and ranking.seal is None:
        return ranking
    return ranking.model_copy(update={"injected": stated, "seal": None})


def resealed(held: Receipt | None, newer: Receipt, key: bytes = b"") -> Receipt:
    """The newer receipt with a seal, unless it continues one whose seal is missing or wrong.

    Otherwise a receipt that somebody forged would be vouched for as soon as its person asks to be forgotten.

    Args:
        held: the receipt that the newer one continues; None if it is the first.
        newer: the next state of it.
        key: the deployment's secret; empty for none.
    """
    if held is not None and seal_of(held, key) is not Seal.RIGHT:
        return newer.model_copy(update={"seal": None})
    return sealed(newer, key)


@lru_cache(maxsize=64)
def derived_key(key: bytes, kind: str) -> bytes:
    """The key for one kind of seal or pseudonym."""
    return hmac.digest(key, b"sager seal " + kind.encode(), "sha256")


def is_plain(value: bytes, event: Model) -> bool:
    """Whether the bytes say exactly what was decoded from them: no field twice, and none that we ignore.

    Readers differ in which of two equal names they take; a seal covers the one that we take.
    """
    try:
        said = json.loads(value, object_pairs_hook=_once)
        return _within(said, event.model_dump(mode="json"))
    except (ValueError, RecursionError):  # nested deeper than anything of ours
        return False


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name twice")
    return found


def _within(said: Any, known: Any) -> bool:
    """Whether all of `said` is in `known`, which may have more fields: defaults that `said` leaves out."""
    if isinstance(said, dict) and isinstance(known, dict):
        return all(name in known and _within(value, known[name]) for name, value in said.items())
    if isinstance(said, list) and isinstance(known, list):
        return len(said) == len(known) and all(map(_within, said, known))
    return type(said) is type(known) and bool(said == known)


def _seal(record: Sealed, key: bytes) -> str:
    # Without defaults: a field that is absent and one that has its default are the same record.
    told = record.model_dump(mode="json", exclude={"seal", "candidates"}, exclude_defaults=True)
    if isinstance(record, Ranking):
        # Metadata belong to the app, in any JSON form and size. Only the candidates' ids and order are sealed.
        told["candidates"] = [candidate.item_id for candidate in record.candidates]
    canonical = orjson.dumps(told, option=orjson.OPT_SORT_KEYS)
    return hmac.digest(derived_key(key, record.TOPIC), canonical, "sha256").hex()
