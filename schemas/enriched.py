"""Records of items that the agent `enrich` writes again, with quoted facts.

Such a record names the app's record and the text, so that it is recognised, and counts for no other one. It keeps
fields that the schema does not know.
"""

from contextlib import suppress
from typing import Any

from pydantic_core import from_json, to_json

from .codec import derived_id
from .items import Fact, QuotedFacts


def enriched_record(record: bytes, digest: str, facts: tuple[Fact, ...]) -> bytes:
    """Return an item's record with quoted facts, and else as the app wrote it."""
    app = _app_record(record)
    quoted = QuotedFacts(source_id=app["event_id"], digest=digest, facts=facts)
    return to_json({**app, "event_id": _own_id(app["event_id"], digest), "quoted": quoted})


def same_app_record(one: bytes, other: bytes) -> bool:
    """Return True for one record of an app, with or without quoted facts."""
    # As bytes: the number NaN, which JSON texts may have, differs from itself.
    return to_json(_app_record(one)) == to_json(_app_record(other))


def is_enriched(record: bytes) -> bool:
    """Return True for a record that the agent wrote, and not an app that copied its facts."""
    if b'"quoted":{' not in record:  # as most: do not parse them
        return False
    item = _read(record)
    quoted = item.get("quoted")
    return isinstance(quoted, dict) and item.get("event_id") == _own_id(
        str(quoted.get("source_id")), str(quoted.get("digest"))
    )


def _app_record(record: bytes) -> dict[str, Any]:
    app = _read(record)
    quoted = app.pop("quoted", None)
    return {**app, "event_id": quoted["source_id"]} if is_enriched(record) else app


def _own_id(source_id: str, digest: str) -> str:
    return derived_id("enrich", source_id, digest)


def _read(record: bytes) -> dict[str, Any]:
    with suppress(ValueError):
        found = from_json(record)
        return found if isinstance(found, dict) else {}
    return {}
