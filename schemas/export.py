"""Exports a JSON Schema per event and one AsyncAPI 3 document, for producers and consumers in other languages."""

from typing import Any

from .base import SCHEMA_VERSION
from .topics import DEFAULT_PREFIX, TOPICS, Topic

ASYNCAPI_VERSION = "3.0.0"
PACKED_JSON = "application/vnd.sager.packed+json"
"""Of values that are compressed inside: docs/events.md tells how."""


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


def asyncapi(prefix: str = DEFAULT_PREFIX, partitions: int = 4) -> dict[str, Any]:
    """One AsyncAPI 3 document over all public topics, each message with its schema and Kafka bindings."""
    channels: dict[str, Any] = {}
    operations: dict[str, Any] = {}
    messages: dict[str, Any] = {}
    for topic in public_topics():
        message = topic.model.__name__
        messages[message] = {
            "name": message,
            "contentType": PACKED_JSON if topic.packed else "application/json",
            "payload": {"schemaFormat": "application/schema+json;version=draft-2020-12", "schema": json_schema(topic)},
            "bindings": {"kafka": {"key": {"type": "string", "description": topic.key.value}}},
        }
        channels[topic.base] = {
            "address": topic.name(prefix),
            "messages": {message: {"$ref": f"#/components/messages/{message}"}},
            "description": f"Written by: {topic.written_by}.",
            "bindings": {
                "kafka": {
                    "topic": topic.name(prefix),
                    "partitions": topic.partitions(partitions),
                    "topicConfiguration": _binding(topic),
                }
            },
        }
        action = "receive" if topic.written_by.startswith(("app", "console")) else "send"
        operations[f"{action}-{topic.base}"] = {
            "action": action,
            "channel": {"$ref": f"#/channels/{topic.base}"},
            "messages": [{"$ref": f"#/channels/{topic.base}/messages/{message}"}],
        }
    return {
        "asyncapi": ASYNCAPI_VERSION,
        "info": {
            "title": "sager-streams",
            "version": str(SCHEMA_VERSION),
            "description": "Ranking and selection events in, policy skills and slim skills out. "
            "`receive` is what the pipeline reads, `send` is what it writes.",
            "license": {"name": "Apache-2.0"},
        },
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages},
    }


def _binding(topic: Topic) -> dict[str, Any]:
    config = topic.config()
    binding: dict[str, Any] = {
        "cleanup.policy": [config["cleanup.policy"]],
        "max.message.bytes": int(config["max.message.bytes"]),
    }
    if "retention.ms" in config:
        binding["retention.ms"] = int(config["retention.ms"])
    return binding
