"""Reads chat completions into JSON objects that fit a schema.

The `openai` package checks no types, so any field may be missing or mistyped.
"""

from collections.abc import Mapping
from typing import Any

import orjson
from jsonschema import Draft202012Validator, ValidationError
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.chat.chat_completion import Choice

from streams.llm.calls import CallFailed, Outcome

# Bounds on size, not on meaning. Some endpoints reject them in strict mode.
SIZES = frozenset({"maxLength", "maxItems"})


class BadReply(ValueError):
    """The reply does not fit the schema; the message quotes no words."""


def answer(completion: ChatCompletion, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON object that the model wrote.

    Raises:
        CallFailed: there is none, or it does not fit the schema.
    """
    match completion:
        case ChatCompletion(choices=[Choice(message=ChatCompletionMessage(refusal=str(why))), *_]) if why:
            raise CallFailed(Outcome.REFUSED, "the model refused")
        case ChatCompletion(choices=[Choice(finish_reason="content_filter"), *_]):
            raise CallFailed(Outcome.REFUSED, "the endpoint's content filter stepped in")
        case ChatCompletion(choices=[Choice(message=ChatCompletionMessage(content=str(text))) as choice, *_]) if text:
            try:
                return read(text, schema)
            except BadReply as bad:
                why = "it was too long and was cut off" if choice.finish_reason == "length" else str(bad)
                raise CallFailed(Outcome.INVALID_REPLY, why) from None
        case _:
            raise CallFailed(Outcome.INVALID_REPLY, "it was empty")


def usage(completion: ChatCompletion) -> tuple[int, int]:
    """Return prompt and completion tokens, or 0 if not counted."""
    match completion.usage:
        case CompletionUsage(prompt_tokens=int(prompt), completion_tokens=int(written)):
            return max(0, prompt), max(0, written)
        case _:
            return 0, 0


def read(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON object in a model's reply.

    Code fences, thoughts and talk around the object are dropped; strings and arrays over their bound are cut to it.

    >>> read('Sure! ```json {"fits": "yes"} ```', {"type": "object", "properties": {"fits": {"enum": ["yes", "no"]}}})
    {'fits': 'yes'}

    Raises:
        BadReply: there is no such object, or it does not fit the schema.
    """
    found = _cut(_parse(text), schema, schema)
    if not isinstance(found, dict):
        raise BadReply("the reply is not a JSON object")
    for error in Draft202012Validator(schema).iter_errors(found):
        raise BadReply(_reason(error))
    return found


def without_sizes(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema without `maxLength` and `maxItems`."""
    kept: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in ("properties", "$defs"):
            kept[keyword] = {name: without_sizes(part) for name, part in value.items()}
        elif keyword == "items":
            kept[keyword] = without_sizes(value)
        elif keyword not in SIZES:
            kept[keyword] = value
    return kept


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


def _cut(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    # As deep as the schema, not as deep as the reply.
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if isinstance(value, str):
        return value[: schema.get("maxLength")]
    if isinstance(value, list):
        kept = value[: schema.get("maxItems")]
        return [_cut(entry, schema["items"], root) for entry in kept] if "items" in schema else kept
    if isinstance(value, dict):
        parts = schema.get("properties", {})
        return {name: _cut(entry, parts[name], root) if name in parts else entry for name, entry in value.items()}
    return value


def _reason(error: ValidationError) -> str:
    # The library's messages quote the value, except where a property is missing.
    if error.validator == "required":
        return error.message
    place = "/".join(str(part) for part in error.schema_path if part not in ("properties", error.validator))
    return f"{place or 'the object'} does not fit the schema's {error.validator!r}"
