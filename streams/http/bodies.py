"""Request bodies: JSON objects, in UTF-8, that can be read in one way only."""

import json
import re
from typing import Any

import orjson

from streams.http.problems import Problem

BYTES_PER_PART = 16
"""What a list or object of a body takes on average, at least. Events' take more; a body of nothing but brackets would
take a fifth of a second a mebibyte, in which nobody else is answered."""
FREE_PARTS = 4_096
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
        asked = read_once(body)
    except ValueError:
        raise Problem(400, "the body is not valid JSON, says a name twice, or has too many lists") from None
    if not isinstance(asked, dict):
        raise Problem(422, "the body must be a JSON object")
    return asked


def read_once(body: bytes) -> Any:
    """JSON that can be read in one way only.

    Raises:
        ValueError: it is no JSON, has too many lists and objects, or a name is there twice.
    """
    if body.count(b"[") + body.count(b"{") > FREE_PARTS + len(body) // BYTES_PER_PART:
        raise ValueError("too many lists and objects")
    orjson.loads(body)  # strict: UTF-8 without a mark, no lone surrogates, no NaN, bounded depth
    try:
        return json.loads(body.decode(), object_pairs_hook=_each_once)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found
