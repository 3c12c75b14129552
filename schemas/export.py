"""JSON Schemas and an AsyncAPI document of the public topics."""

from typing import Any

from pydantic.json_schema import models_json_schema

from .base import SCHEMA_VERSION
from .topics import DEFAULT_PREFIX, TOPICS, Topic

SECURITY = {
    "plain": {"type": "plain", "description": "SASL PLAIN, over TLS only."},
    "scram": {"type": "scramSha512", "description": "SASL SCRAM-SHA-512, the default of our clients."},
    "certificate": {"type": "X509", "description": "A client certificate (mutual TLS)."},
}


def public_topics() -> list[Topic]:
    """Return the topics that others may read or write."""
    return [topic for topic in TOPICS.values() if not topic.internal]


def json_schema(topic: Topic) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a topic's values."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:sager-streams:{topic.base}:{SCHEMA_VERSION}",
        **topic.model.model_json_schema(),
    }


def asyncapi(prefix: str = DEFAULT_PREFIX, partitions: int = 4) -> dict[str, Any]:
    """Return the AsyncAPI document of a deployment."""
    channels: dict[str, Any] = {}
    operations: dict[str, Any] = {}
    messages: dict[str, Any] = {}
    secured = [{"$ref": f"#/components/securitySchemes/{name}"} for name in SECURITY]
    for topic in public_topics():
        message = topic.model.__name__
        messages[message] = {
            "name": message,
            "title": message,
            "summary": (topic.model.__doc__ or message).partition("\n")[0],
            "contentType": "application/json",
            "payload": {"$ref": f"#/components/schemas/{message}"},
            "bindings": {"kafka": {"key": {"type": "string", "description": topic.key.value}}},
        }
        kafka = {"topic": topic.name(prefix), "partitions": topic.partitions(partitions)}
        channels[topic.base] = {
            "address": topic.name(prefix),
            "messages": {message: {"$ref": f"#/components/messages/{message}"}},
            "description": f"Written by: {topic.written_by}.",
            "servers": [{"$ref": "#/servers/kafka"}],
            "bindings": {"kafka": {**kafka, "topicConfiguration": _configuration(topic)}},
        }
        action = "receive" if topic.written_by.startswith(("app", "console")) else "send"
        operations[f"{action}-{topic.base}"] = {
            "action": action,
            "summary": f"{'Reads' if action == 'receive' else 'Writes'} {topic.base}.",
            "channel": {"$ref": f"#/channels/{topic.base}"},
            "messages": [{"$ref": f"#/channels/{topic.base}/messages/{message}"}],
            "security": secured,
        }
    _, definitions = models_json_schema(
        [(topic.model, "validation") for topic in public_topics()], ref_template="#/components/schemas/{model}"
    )
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "sager-streams",
            "version": str(SCHEMA_VERSION),
            "description": "Ranking and selection events in, policy skills and slim skills out. "
            "The pipeline reads `receive` and writes `send`.",
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {
            "kafka": {
                "host": "{bootstrap}",
                "protocol": "kafka-secure",
                "description": "The deployment's Kafka; docs/access.md describes its security.",
                "variables": {"bootstrap": {"default": "localhost:9092", "description": "A bootstrap server."}},
                "security": secured,
            }
        },
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages, "schemas": _in_draft_7(definitions["$defs"]), "securitySchemes": SECURITY},
    }


def _in_draft_7(schema: Any) -> Any:
    """Convert schemas of draft 2020-12 to draft 7, as AsyncAPI needs."""
    if isinstance(schema, list):
        return [_in_draft_7(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {"items" if name == "prefixItems" else name: _in_draft_7(value) for name, value in schema.items()}
    # Draft 7 ignores the neighbours of a reference.
    return {"$ref": found["$ref"]} if isinstance(found.get("$ref"), str) else found


def _configuration(topic: Topic) -> dict[str, Any]:
    config = topic.config()
    found: dict[str, Any] = {"cleanup.policy": [config["cleanup.policy"]]}
    return found | {name: int(config[name]) for name in ("max.message.bytes", "retention.ms") if name in config}
