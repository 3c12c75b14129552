"""Exports a JSON Schema per event, for producers and consumers in other languages."""

from typing import Any

from .topics import TOPICS, Topic


def public_topics() -> list[Topic]:
    """The topics that others may read or write: all but the tables' changelogs."""
    return [topic for topic in TOPICS.values() if not topic.internal]


def json_schema(topic: Topic) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of one topic's value, as sent over Kafka."""
    schema = topic.model.model_json_schema(mode="serialization", ref_template="#/$defs/{model}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:sager-streams:{topic.base}:{topic.model.version_now()}",
        **_input_view(topic, schema),
    }


def _input_view(topic: Topic, schema: dict[str, Any]) -> dict[str, Any]:
    """A producer may leave out fields with a default: only what validation requires is required."""
    required = {
        name: sub.get("required", [])
        for name, sub in {
            "": topic.model.model_json_schema(mode="validation"),
            **topic.model.model_json_schema(mode="validation").get("$defs", {}),
        }.items()
    }
    definitions = {name: {**sub, "required": required.get(name, [])} for name, sub in schema.get("$defs", {}).items()}
    return {**schema, "required": required[""], **({"$defs": definitions} if definitions else {})}
