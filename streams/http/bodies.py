"""Request bodies: JSON objects, in UTF-8, that can be read in one way only."""

import json
import re
from typing import Any

import orjson

from streams.http.problems import Problem

_TYPE = re.compile(r"""application/json[ \t]*(;[ \t]*charset="?utf-8"?[ \t]*)?""", re.IGNORECASE)


def body_of(content_type: str | None, body: bytes) -> dict[str, Any]:
    """The JSON object of a body.

    Args:
        content_type: the header `Content-Type`.
        body: the bytes.

    Raises:
        Problem: it is of another type, not JSON, says a name twice, or is no object. The text quotes nothing of it.
    """
    if not _TYPE.fullmatch(content_type or ""):
        raise Problem(415, "send `Content-Type: application/json`, in UTF-8", {"Accept": "application/json"})
    try:
        orjson.loads(body)  # strict: UTF-8 without a mark, no lone surrogates, no NaN, bounded depth
        asked = json.loads(body.decode(), object_pairs_hook=_each_once)
    except (ValueError, RecursionError):
        raise Problem(400, "the body is not valid JSON, or says a name twice") from None
    if not isinstance(asked, dict):
        raise Problem(422, "the body must be a JSON object")
    return asked


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found
