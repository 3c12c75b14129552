"""Seals of records, and the chain of seals in a log.

A seal is an HMAC-SHA256 of canonical JSON, keyed per kind from the deployment's secret. A diff's also covers the seal
before it. Without a secret, seals detect only careless edits.
"""

import hmac
import json
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar

import orjson

from schemas import CardDiff, Injected, Model, RankedBy, Ranking, Receipt, SkillDiff, SlimSkill, Weights

DiffT = TypeVar("DiffT", SkillDiff, CardDiff)
Diff = SkillDiff | CardDiff
Sealed = Ranking | SlimSkill | Receipt | Weights
SealedT = TypeVar("SealedT", Ranking, SlimSkill, Receipt, Weights)

_NOTHING = Injected()
# Fields of `Injected` that only our ranker sets, with their defaults. An app may set the others.
_OUR_FIELDS = {
    name: getattr(_NOTHING, name)
    for name in (
        *("rank_skill", "companions", "weights_version", "features", "fit"),
        *("memory_version", "graph_epoch", "reasons"),
    )
}


class SealState(StrEnum):
    """The state of a record's seal."""

    RIGHT = "right"
    MISSING = "missing"
    # The record was edited, or sealed with another key.
    WRONG = "wrong"


def seal_record(record: SealedT, key: bytes = b"") -> SealedT:
    """Seal a record."""
    return record.model_copy(update={"seal": _seal(record, key)})


def check_seal(record: Sealed, key: bytes = b"") -> SealState:
    """Check a record's seal."""
    if record.seal is None:
        return SealState.MISSING
    try:
        expected = _seal(record, key)
    except orjson.JSONEncodeError:
        return SealState.WRONG  # no writer of ours seals such a number, and the reader must go on
    return SealState.RIGHT if hmac.compare_digest(record.seal, expected) else SealState.WRONG


def without_unproven_fields(ranking: Ranking, key: bytes | None) -> Ranking:
    """Return the ranking without fields that its writer may not set.

    Any writer can claim to be our ranker, whose features move a domain's weights for all users. Without the right seal
    the ranking counts as the app's own. Without a secret (None) any seal counts.
    """
    is_proven = ranking.seal is not None if key is None else check_seal(ranking, key) is SealState.RIGHT
    if ranking.ranked_by is RankedBy.SAGER:
        if is_proven:
            return ranking
        return ranking.model_copy(update={"ranked_by": RankedBy.APP, "injected": _NOTHING, "seal": None})
    stated = ranking.injected
    is_clean = all(getattr(stated, name) == default for name, default in _OUR_FIELDS.items())
    if is_clean and ranking.seal is None:
        return ranking
    stated = stated if is_clean else stated.model_copy(update=_OUR_FIELDS)
    return ranking.model_copy(update={"injected": stated, "seal": None})


def reseal_receipt(held: Receipt | None, newer: Receipt, key: bytes = b"") -> Receipt:
    """Seal the newer receipt, unless its predecessor has a wrong seal.

    Otherwise the next request to forget would seal a forged receipt.
    """
    if held is not None and check_seal(held, key) is not SealState.RIGHT:
        return newer.model_copy(update={"seal": None})
    return seal_record(newer, key)


@lru_cache(maxsize=64)
def derived_key(key: bytes, kind: str) -> bytes:
    """Return the key for one kind of seal or pseudonym."""
    return hmac.digest(key, b"sager seal " + kind.encode(), "sha256")


def is_canonical(value: bytes, event: Model) -> bool:
    """Return True if the JSON has no duplicate or unknown fields.

    Parsers differ on which duplicate wins; the seal covers only the one that we keep.
    """
    try:
        sent = json.loads(value, object_pairs_hook=_unique_names)
        return _within(sent, event.model_dump(mode="json"))
    except (ValueError, RecursionError):  # nested deeper than anything of ours
        return False


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name twice")
    return found


def _within(sent: Any, known: Any) -> bool:
    # `known` has defaults that `sent` omits.
    if isinstance(sent, dict) and isinstance(known, dict):
        return all(name in known and _within(value, known[name]) for name, value in sent.items())
    if isinstance(sent, list) and isinstance(known, list):
        return len(sent) == len(known) and all(map(_within, sent, known))
    return type(sent) is type(known) and bool(sent == known)


def _seal(record: Sealed, key: bytes) -> str:
    # Without defaults: a field that is absent and one that has its default are the same record.
    fields = record.model_dump(mode="json", exclude={"seal", "candidates"}, exclude_defaults=True)
    if isinstance(record, Ranking):
        # Metadata belongs to the app, in any form and size. Only ids and order are sealed.
        fields["candidates"] = [candidate.item_id for candidate in record.candidates]
    canonical = orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)
    return hmac.digest(derived_key(key, record.TOPIC), canonical, "sha256").hex()


def seal_diff(diff: DiffT, before: str | None, key: bytes = b"") -> DiffT:
    """Seal a diff."""
    return diff.model_copy(update={"chain": _chained(diff, before, key)})


def seal_log(diffs: Sequence[DiffT], key: bytes = b"") -> list[DiffT]:
    """Seal all diffs of a rewritten log."""
    sealed: list[DiffT] = []
    for diff in diffs:
        sealed.append(seal_diff(diff, sealed[-1].chain if sealed else None, key))
    return sealed


def is_sealed(diff: Diff, before: str | None, key: bytes = b"") -> bool:
    """Return True if a version has the right seal."""
    return diff.chain is not None and hmac.compare_digest(diff.chain, _chained(diff, before, key))


def _chained(diff: Diff, before: str | None, key: bytes) -> str:
    if isinstance(diff, CardDiff):
        key = derived_key(key, diff.TOPIC)  # the seal of a skill's version is never one of a card's
    # Without defaults: a field added by a later release does not break existing seals.
    plain = diff.model_dump(mode="json", exclude={"chain"}, exclude_defaults=True)
    canonical = orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)
    return hmac.digest(key, f"{before or ''}\n".encode() + canonical, "sha256").hex()
