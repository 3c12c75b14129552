"""Exports one AsyncAPI 3 document over all public topics, for whoever speaks Kafka without a client of ours."""

from collections.abc import Mapping
from typing import Any

from .base import SCHEMA_VERSION
from .export import json_schema, public_topics
from .topics import DEFAULT_PREFIX, Topic

ASYNCAPI_VERSION = "3.0.0"
PACKED_JSON = "application/vnd.sager.packed+json"
"""Of values that are compressed inside: docs/events.md tells how."""
DEFINITIONS, COMPONENTS = "#/$defs/", "#/components/schemas/"
SECURITY = {
    "plain": {"type": "plain", "description": "SASL PLAIN, over TLS only."},
    "scram": {"type": "scramSha512", "description": "SASL SCRAM-SHA-512, the default of every client of ours."},
    "certificate": {"type": "X509", "description": "A client certificate (mutual TLS)."},
}


def asyncapi(prefix: str = DEFAULT_PREFIX, partitions: int = 4) -> dict[str, Any]:
    """One AsyncAPI 3 document over all public topics, each message with its schema and Kafka bindings.

    Args:
        prefix: the deployment's.
        partitions: how many its topics have.
    """
    channels: dict[str, Any] = {}
    operations: dict[str, Any] = {}
    messages: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for topic in public_topics():
        message = topic.model.__name__
        payload = _payload(topic, schemas)
        messages[message] = {
            "name": message,
            "title": message,
            "summary": payload.get("description", message).partition("\n")[0],
            "contentType": PACKED_JSON if topic.packed else "application/json",
            "payload": payload,
            "bindings": {"kafka": {"key": {"type": "string", "description": topic.key.value}}},
        }
        channels[topic.base] = {
            "address": topic.name(prefix),
            "messages": {message: {"$ref": f"#/components/messages/{message}"}},
            "description": f"Written by: {topic.written_by}.",
            "servers": [{"$ref": "#/servers/kafka"}],
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
            "summary": f"{'Reads' if action == 'receive' else 'Writes'} {topic.base}.",
            "channel": {"$ref": f"#/channels/{topic.base}"},
            "messages": [{"$ref": f"#/channels/{topic.base}/messages/{message}"}],
            "security": _security(),
        }
    return {
        "asyncapi": ASYNCAPI_VERSION,
        "info": {
            "title": "sager-streams",
            "version": str(SCHEMA_VERSION),
            "description": "Ranking and selection events in, policy skills and slim skills out. "
            "`receive` is what the pipeline reads, `send` is what it writes.",
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {
            "kafka": {
                "host": "{bootstrap}",
                "protocol": "kafka-secure",
                "description": "The deployment's Kafka. What it asks of a client is its own: docs/access.md.",
                "variables": {"bootstrap": {"default": "localhost:9092", "description": "A bootstrap server."}},
                "security": _security(),
            }
        },
        "channels": channels,
        "operations": operations,
        "components": {
            "messages": messages,
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": SECURITY,
        },
    }


def _security() -> list[dict[str, str]]:
    return [{"$ref": f"#/components/securitySchemes/{name}"} for name in SECURITY]


def _payload(topic: Topic, schemas: dict[str, Any]) -> dict[str, Any]:
    """The topic's schema in AsyncAPI's own dialect; its definitions become components, as all references do.

    References are relative to the whole document, so that those of a schema with `$defs` of its own would lead nowhere.
    """
    schema = json_schema(topic)
    for name, definition in schema.pop("$defs", {}).items():
        schemas[name] = _in_dialect(definition)
    return {name: value for name, value in _in_dialect(schema).items() if name not in ("$schema", "$id")}


def _in_dialect(schema: Any) -> Any:
    """A schema of draft 2020-12 as one of draft 7, of which AsyncAPI's dialect is a superset."""
    if isinstance(schema, list):
        return [_in_dialect(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    found = {name: _in_dialect(value) for name, value in schema.items()}
    if isinstance(reference := found.get("$ref"), str):
        target = {"$ref": reference.replace(DEFINITIONS, COMPONENTS)}
        besides = {name: value for name, value in found.items() if name != "$ref"}
        # What stands beside a reference counts for nothing in draft 7.
        return {"allOf": [target], **besides} if besides else target
    if isinstance(places := found.pop("prefixItems", None), list):
        found["items"] = places
    return found


def _binding(topic: Topic) -> dict[str, Any]:
    config = topic.config()
    binding: dict[str, Any] = {
        "cleanup.policy": [config["cleanup.policy"]],
        "max.message.bytes": int(config["max.message.bytes"]),
    }
    if "retention.ms" in config:
        binding["retention.ms"] = int(config["retention.ms"])
    return binding
