"""Conditions between fields, for validators that know only the JSON Schema: they refuse what we refuse."""

from typing import Any

Condition = dict[str, Any]
"""A part of a JSON Schema."""


def given(*names: str) -> Condition:
    """All of these fields are there, and none of them is null.

    >>> given("item_id")
    {'required': ['item_id'], 'properties': {'item_id': {'not': {'type': 'null'}}}}
    """
    return {"required": [*names], "properties": {name: {"not": {"type": "null"}} for name in names}}


def equals(name: str, *values: object) -> Condition:
    """A field is there, and is one of these values.

    >>> equals("none_taken", True)
    {'required': ['none_taken'], 'properties': {'none_taken': {'enum': [True]}}}
    """
    return {"required": [name], "properties": {name: {"enum": [*values]}}}


def has_any(name: str) -> Condition:
    """A list is there, and is not empty."""
    return {"required": [name], "properties": {name: {"type": "array", "minItems": 1}}}


def where(condition: Condition, then: Condition, otherwise: Condition | None = None) -> Condition:
    """What must be so where something is so, and, if that is given, where it is not."""
    return {"if": condition, "then": then} | ({"else": otherwise} if otherwise is not None else {})
