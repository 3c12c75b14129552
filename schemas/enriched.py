"""Records of items that the agent `enrich` writes again, with quoted facts.

Such a record names the app's record and the hash of the text, so the worker recognises it. It keeps fields that the
schema does not know.
"""

from contextlib import suppress
from typing import Any

from pydantic_core import from_json, to_json

from .codec import derived_id
from .items import Fact, QuotedFacts


def enriched_record(record: bytes, digest: str, facts: tuple[Fact, ...]) -> bytes:
    """Add quoted facts to an app's record."""
    app = _app_record(record)
    quoted = QuotedFacts(source_id=app["event_id"], digest=digest, facts=facts)
    return to_json({**app, "event_id": _enriched_id(app["event_id"], digest), "quoted": quoted})


def same_app_record(one: bytes, other: bytes) -> bool:
    """Return True if two records differ in quoted facts at most."""
    # As bytes: the number NaN, which JSON texts may have, differs from itself.
    return to_json(_app_record(one)) == to_json(_app_record(other))


def is_enriched(record: bytes) -> bool:
    """Return True for a record that the agent wrote, and not an app that copied its facts."""
    if b'"quoted":{' not in record:  # most records have none, and need no parsing
        return False
    return _source_id(_read(record)) is not None


def _app_record(record: bytes) -> dict[str, Any]:
    item = _read(record)
    source_id = _source_id(item)
    item.pop("quoted", None)
    return item if source_id is None else {**item, "event_id": source_id}


def _source_id(item: dict[str, Any]) -> str | None:
    """Return the id of the app's record if the agent wrote this one."""
    quoted = item.get("quoted")
    if not isinstance(quoted, dict):
        return None
    source_id = str(quoted.get("source_id"))
    return source_id if item.get("event_id") == _enriched_id(source_id, str(quoted.get("digest"))) else None


def _enriched_id(source_id: str, digest: str) -> str:
    return derived_id("enrich", source_id, digest)


def _read(record: bytes) -> dict[str, Any]:
    with suppress(ValueError):
        found = from_json(record)
        return found if isinstance(found, dict) else {}
    return {}
