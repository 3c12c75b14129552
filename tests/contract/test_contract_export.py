"""JSON Schema and AsyncAPI, as producers and consumers in other languages get them (DESIGN 3)."""

import copy
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from schemas import TOPICS, BadRecord, Topic, decode
from schemas.export import asyncapi, json_schema, public_topics
from tests.contract.test_contract_golden import EXAMPLES, topic_of_example
from tests.golden import golden, wire

CONDITIONAL = (
    *("selections", "skill-commands", "card-commands", "corrections", "feedback", "forget-requests"),
    *("conversations", "open-rankings"),  # they hold such events
)


def example(topic: Topic) -> dict[str, Any]:
    found: dict[str, Any] = golden(topic.base)
    return found


@cache
def validator(topic: Topic) -> Draft202012Validator:
    return Draft202012Validator(json_schema(topic))


def accepts(topic: Topic, value: Any) -> tuple[bool, bool]:
    """Whether the exported schema, and whether we ourselves accept this value."""
    try:
        decode(topic.model, json.dumps(value).encode())
    except BadRecord:
        return validator(topic).is_valid(value), False
    return validator(topic).is_valid(value), True


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_accepts_every_example_also_with_what_a_newer_producer_adds(name: str) -> None:
    assert accepts(topic_of_example(name), golden(name)) == (True, True)
    assert accepts(topic_of_example(name), {**golden(name), "added_in_2031": 1}) == (True, True)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        if key not in ("metadata", "shares", "older", "older_known"):
            yield from paths(child, (*path, key))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_schema_accepts_null_wherever_we_accept_it(name: str) -> None:
    """It knows no conditions between fields: there it accepts more than we do."""
    topic, whole = topic_of_example(name), json.loads(wire(name))
    for path in paths(whole):
        broken: Any = {"root": copy.deepcopy(whole)}
        *way, last = ("root", *path)
        place = broken
        for key in way:
            place = place[key]
        place[last] = None
        by_schema, by_us = accepts(topic, broken["root"])
        assert by_schema >= by_us, path
        if topic.base not in CONDITIONAL:
            assert by_schema == by_us, path


@pytest.mark.parametrize(
    ("base", "change"),
    [
        ("rankings", {"candidates": []}),
        ("rankings", {"candidates": [{"item_id": f"i{n}"} for n in range(101)]}),
        ("skill-commands", {"action": "explode"}),
        ("skill-commands", {"user_id": ""}),
        ("global-skills", {"shares": {"a:b:c": 1.5}}),
        ("skills", {"version": -1}),
        ("dead-letters", {"source": {"topic": "t", "partition": 0, "offset": -1, "timestamp_ms": 0}}),
        ("feedback", {"signal": "Liked"}),
        ("corrections", {"language": "English"}),
        ("card-diffs", {"version": 0}),
    ],
    ids=str,
)
def test_broken_records_are_rejected_by_both(base: str, change: dict[str, Any]) -> None:
    assert accepts(TOPICS[base], {**example(TOPICS[base]), **change}) == (False, False)


class TestAsyncApi:
    def test_every_public_topic_is_a_channel_and_no_table_is(self) -> None:
        document = asyncapi("tenant-7.", partitions=12)

        assert set(document["channels"]) == {topic.base for topic in TOPICS.values() if not topic.internal}
        for base, channel in document["channels"].items():
            kafka = channel["bindings"]["kafka"]
            assert channel["address"] == kafka["topic"] == f"tenant-7.{base}"
            assert kafka["partitions"] == (1 if base == "global-skills" else 12)

    def test_every_message_has_a_payload_that_takes_the_golden_example(self) -> None:
        document = asyncapi()

        assert set(document["components"]["messages"]) == {topic.model.__name__ for topic in public_topics()}
        for topic in public_topics():
            payload = {"$ref": f"#/components/messages/{topic.model.__name__}/payload"}
            assert list(Draft7Validator({**document, **payload}).iter_errors(example(topic))) == []
            for name in example(topic):
                wrong = {**example(topic), name: [["wrong"]]}
                assert not Draft7Validator({**document, **payload}).is_valid(wrong), (topic.base, name)

    def test_apps_write_what_we_receive(self) -> None:
        actions = {name.partition("-")[2]: operation["action"] for name, operation in asyncapi()["operations"].items()}

        assert {base for base, action in actions.items() if action == "receive"} == {
            "items", "interactions", "rank-requests", "rankings", "selections", "feedback", "corrections",
            "utterances", "card-commands", "skill-commands", "forget-requests",
        }  # fmt: skip
