"""Reading a model's words as JSON: repair what is only wrapping or excess, refuse what is wrong.

The check is ours because it is forty lines and our schemas are simple; `jsonschema` would bring five packages into
the extra and quote the model's reply in its messages. A test holds the two against each other.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

SIZES = frozenset({"maxLength", "maxItems"})
"""Bounds on size, not on meaning. Some endpoints refuse them in strict mode, so that we may have to keep them to us."""

_SHAPES = {"$defs", "$ref", "additionalProperties", "description", "enum", "items", "minItems", "properties"}
_KEYWORDS = SIZES | _SHAPES | {"required", "type"}
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}


class BadReply(ValueError):
    """The model's words are not what was asked for. The message names schema and place, never the model's words."""


def read(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object in a model's reply.

    Code fences, thoughts and talk around the object are dropped; strings and arrays over their bound are cut to it.

    >>> read('Sure! ```json {"fits": "yes"} ```', {"type": "object", "properties": {"fits": {"enum": ["yes", "no"]}}})
    {'fits': 'yes'}

    Raises:
        BadReply: there is no such object, or it does not fit the schema.
    """
    found = _cut(_parse(text), schema, schema)
    for complaint in _complaints(found, schema, schema, "the reply"):
        raise BadReply(complaint)
    if not isinstance(found, dict):
        raise BadReply("the reply is not a JSON object")
    return found


def assert_supported(schema: Mapping[str, Any]) -> None:
    """Refuses a schema that `read` would check only in part.

    Raises:
        ValueError: it uses a keyword or type that is not checked here; a programming error.
    """
    unknown = set(schema) - _KEYWORDS
    if unknown or schema.get("type", "object") not in _TYPES:
        raise ValueError(f"schema keywords or types that are not checked: {sorted(unknown) or schema['type']}")
    for part in _parts(schema):
        assert_supported(part)


def without_sizes(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without `maxLength` and `maxItems`."""
    kept: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in ("properties", "$defs"):
            kept[keyword] = {name: without_sizes(part) for name, part in value.items()}
        elif keyword == "items":
            kept[keyword] = without_sizes(value)
        elif keyword not in SIZES:
            kept[keyword] = value
    return kept


def _parts(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from schema.get("properties", {}).values()
    yield from schema.get("$defs", {}).values()
    if "items" in schema:
        yield schema["items"]


def _parse(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        # Models wrap the object in a fence, in talk, or put thoughts with braces of their own before it.
        text = text.rpartition("</think>")[2]
        inner = text[text.find("{") : text.rfind("}") + 1]
    try:
        return orjson.loads(inner)
    except ValueError:
        raise BadReply("the reply holds no complete JSON object") from None


def _resolve(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    return schema


def _cut(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    # Here and in `_complaints` we go as deep as the schema does, not as deep as the reply likes.
    schema = _resolve(schema, root)
    if isinstance(value, str):
        return value[: schema.get("maxLength")]
    if isinstance(value, list):
        kept = value[: schema.get("maxItems")]
        return [_cut(entry, schema["items"], root) for entry in kept] if "items" in schema else kept
    if isinstance(value, dict):
        parts = schema.get("properties", {})
        return {name: _cut(entry, parts[name], root) if name in parts else entry for name, entry in value.items()}
    return value


def _complaints(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], place: str) -> Iterator[str]:
    schema = _resolve(schema, root)
    wanted = schema.get("type")
    # Python's True is an int, JSON's true is no number.
    if wanted and (not isinstance(value, _TYPES[wanted]) or (isinstance(value, bool) and wanted != "boolean")):
        yield f"{place} must be of type {wanted}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place} must be one of the values that the schema lists"
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{place} must have at least {schema['minItems']} entries"
        for number, entry in enumerate(value if "items" in schema else ()):
            yield from _complaints(entry, schema["items"], root, f"{place}[{number}]")
    if isinstance(value, dict):
        yield from _object_complaints(value, schema, root, place)


def _object_complaints(
    value: dict[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], place: str
) -> Iterator[str]:
    parts = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{place} lacks the property {name!r}"
    if schema.get("additionalProperties") is False and set(value) - set(parts):
        yield f"{place} has properties that the schema does not name"
    for name, part in parts.items():
        if name in value:
            yield from _complaints(value[name], part, root, name if place == "the reply" else f"{place}.{name}")
