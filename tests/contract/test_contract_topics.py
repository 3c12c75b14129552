"""Topics: keys, retention, JSON schemas, AsyncAPI and the records that models refuse."""

import copy
import json
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from schemas import TOPICS, BadRecord, Model, Topic, decode, diff_key
from schemas.export import asyncapi, json_schema, public_topics
from tests.contract.test_contract_golden import EXAMPLES, topic_of_example
from tests.golden import golden, wire

DAY = timedelta(days=1)
USER, USER_DOMAIN = "user_id", "user_id, domain"
# base: (key, model, retention, compacted)
EXPECTED = {
    "items": ("item_id", "Item", None, True),
    "interactions": (USER, "Interaction", 30 * DAY, False),
    "rank-requests": (USER, "RankRequest", 7 * DAY, False),
    "rankings": (USER, "Ranking", 7 * DAY, False),
    "selections": (USER, "Selection", 30 * DAY, False),
    "feedback": (USER, "Feedback", 30 * DAY, False),
    "corrections": (USER, "Correction", 90 * DAY, False),
    "utterances": (USER, "Utterance", 7 * DAY, False),
    "abstentions": (USER, "Abstention", 30 * DAY, False),
    "contrasts": (USER, "Contrast", 30 * DAY, False),
    "skill-diffs": ("user_id, domain, version", "SkillDiff", None, True),
    "skills": (USER_DOMAIN, "PolicySkill", None, True),
    "slim-skills": (USER_DOMAIN, "SlimSkill", None, True),
    "card-diffs": ("user_id, version", "CardDiff", None, True),
    "cards": (USER, "Card", None, True),
    "card-commands": (USER, "CardCommand", 90 * DAY, False),
    "skill-commands": (USER, "SkillCommand", 90 * DAY, False),
    "forget-requests": (USER, "ForgetRequest", 30 * DAY, False),
    "receipts": ("subject", "Receipt", None, True),
    "global-skills": ("domain", "GlobalSkill", None, True),
    "weights": ("domain", "Weights", None, True),
    "weight-commands": ("domain", "WeightCommand", 90 * DAY, False),
    "dead-letters": ("the original record's key", "DeadLetter", 90 * DAY, False),
    "profiles": (USER_DOMAIN, "Profile", None, True),
    "open-rankings": ("user_id, slot", "OpenRankings", None, True),
    "conversations": (USER, "PendingConversations", None, True),
    "memories": (USER_DOMAIN, "Memory", None, True),
    "item-memories": ("item_id, domain", "ItemMemory", None, True),
    "item-touches": ("a taker's pseudonym", "ItemUpdate", 7 * DAY, False),
    "outcomes": ("domain", "RankingOutcome", 7 * DAY, False),
}


def test_topics_are_keyed_and_kept_as_designed() -> None:
    assert {
        base: (topic.key.value, topic.model.__name__, topic.retention, topic.compact) for base, topic in TOPICS.items()
    } == EXPECTED


def test_no_version_of_a_skill_is_compacted_away() -> None:
    # No two versions share a key, so only the tombstone of an erasure removes one.
    assert TOPICS["skill-diffs"].config()["cleanup.policy"] == "compact"
    assert diff_key("ann", "books", 1) != diff_key("ann", "books", 2)


def test_compacted_topics_drop_erased_records_within_a_day() -> None:
    # By default Kafka compacts a log once half of it is new, which may never happen.
    for topic in TOPICS.values():
        if topic.compact:
            assert int(topic.config()["max.compaction.lag.ms"]) <= DAY / timedelta(milliseconds=1)


def test_topics_that_are_joined_have_the_same_partition_count() -> None:
    # With another count, records of one user are in different partitions.
    assert {t.partitions(12) for t in TOPICS.values() if t.key.value.startswith(("user_id", "item_id"))} == {12}


CONDITIONAL = (
    *("selections", "skill-commands", "card-commands", "corrections", "feedback", "forget-requests"),
    *("conversations", "open-rankings"),  # they hold such events
)


@cache
def validator(topic: Topic) -> Draft202012Validator:
    return Draft202012Validator(json_schema(topic))


def accepts(topic: Topic, value: Any) -> tuple[bool, bool]:
    """Return whether the exported schema accepts a value, and whether the model does."""
    try:
        decode(topic.model, json.dumps(value).encode())
    except BadRecord:
        return validator(topic).is_valid(value), False
    return validator(topic).is_valid(value), True


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_schema_accepts_examples_with_and_without_unknown_fields(name: str) -> None:
    assert accepts(topic_of_example(name), golden(name)) == (True, True)
    assert accepts(topic_of_example(name), {**golden(name), "added_in_2031": 1}) == (True, True)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        if key not in ("metadata", "shares", "older", "older_known"):
            yield from paths(child, (*path, key))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_schema_accepts_null_where_the_model_does(name: str) -> None:
    # A JSON schema knows no conditions between fields, and there it accepts more.
    topic, whole = topic_of_example(name), json.loads(wire(name))
    for path in paths(whole):
        broken: Any = {"root": copy.deepcopy(whole)}
        *way, last = ("root", *path)
        place = broken
        for key in way:
            place = place[key]
        place[last] = None
        by_schema, by_model = accepts(topic, broken["root"])
        assert by_schema >= by_model, path
        if topic.base not in CONDITIONAL:
            assert by_schema == by_model, path


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
def test_schema_and_model_reject_broken_records(base: str, change: dict[str, Any]) -> None:
    assert accepts(TOPICS[base], {**golden(base), **change}) == (False, False)


class TestAsyncApi:
    def test_only_public_topics_are_channels(self) -> None:
        document = asyncapi("tenant-7.", partitions=12)

        assert set(document["channels"]) == {topic.base for topic in TOPICS.values() if not topic.internal}
        for base, channel in document["channels"].items():
            kafka = channel["bindings"]["kafka"]
            assert channel["address"] == kafka["topic"] == f"tenant-7.{base}"
            assert kafka["partitions"] == (1 if base == "global-skills" else 12)

    def test_message_payloads_accept_the_examples_only(self) -> None:
        document = asyncapi()

        assert set(document["components"]["messages"]) == {topic.model.__name__ for topic in public_topics()}
        for topic in public_topics():
            payload = {"$ref": f"#/components/messages/{topic.model.__name__}/payload"}
            assert list(Draft7Validator({**document, **payload}).iter_errors(golden(topic.base))) == []
            for name in golden(topic.base):
                wrong = {**golden(topic.base), name: [["wrong"]]}
                assert not Draft7Validator({**document, **payload}).is_valid(wrong), (topic.base, name)

    def test_apps_write_the_topics_that_the_worker_receives(self) -> None:
        actions = {name.partition("-")[2]: operation["action"] for name, operation in asyncapi()["operations"].items()}

        assert {base for base, action in actions.items() if action == "receive"} == {
            "items", "interactions", "rank-requests", "rankings", "selections", "feedback", "corrections",
            "utterances", "card-commands", "skill-commands", "forget-requests",
        }  # fmt: skip


def subclasses(model: type[Model] = Model) -> Iterator[type[Model]]:
    for each in model.__subclasses__():
        yield each
        yield from subclasses(each)


def core_schemas(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield the parts of a pydantic schema, except an item's metadata, whose types are the app's."""
    if isinstance(schema, list | tuple):
        yield from (part for each in schema for part in core_schemas(each))
    elif isinstance(schema, dict):
        yield schema
        yield from (part for name, each in schema.items() if name != "metadata" for part in core_schemas(each))


def test_every_model_reads_numbers_strictly() -> None:
    lenient = {
        model.__name__
        for model in subclasses()
        for part in core_schemas(model.__pydantic_core_schema__)
        if part.get("type") in ("int", "float", "bool") and not part.get("strict")
    }

    assert len(list(subclasses())) > len(TOPICS)
    assert lenient == set()
