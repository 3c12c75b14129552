"""The topic registry beside the table in DESIGN 3, its schemas, and what its models refuse."""

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from schemas import TOPICS, BadRecord, Topic, decode, diff_key
from schemas.base import Model
from schemas.export import asyncapi, json_schema, public_topics
from tests.contract.test_contract_golden import BASES, EXAMPLES, topic_of_example
from tests.golden import golden, wire

DAY = timedelta(days=1)
FOR_EVER = None
USER, USER_DOMAIN, ITEM_DOMAIN, TAKER = "user_id", "user_id, domain", "item_id, domain", "a taker's pseudonym"
# base: (key, body, kept, compacted)
PUBLIC = {
    "items": ("item_id", "Item", FOR_EVER, True),
    "interactions": (USER, "Interaction", 30 * DAY, False),
    "rank-requests": (USER, "RankRequest", 7 * DAY, False),
    "rankings": (USER, "Ranking", 7 * DAY, False),
    "selections": (USER, "Selection", 30 * DAY, False),
    "feedback": (USER, "Feedback", 30 * DAY, False),
    "corrections": (USER, "Correction", 90 * DAY, False),
    "utterances": (USER, "Utterance", 7 * DAY, False),
    "abstentions": (USER, "Abstention", 30 * DAY, False),
    "contrasts": (USER, "Contrast", 30 * DAY, False),
    "skill-diffs": ("user_id, domain, version", "SkillDiff", FOR_EVER, True),
    "skills": (USER_DOMAIN, "PolicySkill", FOR_EVER, True),
    "slim-skills": (USER_DOMAIN, "SlimSkill", FOR_EVER, True),
    "card-diffs": ("user_id, version", "CardDiff", FOR_EVER, True),
    "cards": (USER, "Card", FOR_EVER, True),
    "card-commands": (USER, "CardCommand", 90 * DAY, False),
    "skill-commands": (USER, "SkillCommand", 90 * DAY, False),
    "forget-requests": (USER, "ForgetRequest", 30 * DAY, False),
    "receipts": ("subject", "Receipt", FOR_EVER, True),
    "global-skills": ("domain", "GlobalSkill", FOR_EVER, True),
    "weights": ("domain", "Weights", FOR_EVER, True),
    "weight-commands": ("domain", "WeightCommand", 90 * DAY, False),
    "dead-letters": ("the original record's key", "DeadLetter", 90 * DAY, False),
}
TABLES = {
    "profiles": (USER_DOMAIN, "Profile", FOR_EVER, True),
    "open-rankings": ("user_id, slot", "OpenRankings", FOR_EVER, True),
    "conversations": (USER, "PendingConversations", FOR_EVER, True),
    "memories": (USER_DOMAIN, "Memory", FOR_EVER, True),
    "item-memories": (ITEM_DOMAIN, "ItemMemory", FOR_EVER, True),
}
GRAPH = {"item-touches": (TAKER, "ItemUpdate", 7 * DAY, False)}
LEARNED = {"outcomes": ("domain", "RankingOutcome", 7 * DAY, False)}


@pytest.mark.parametrize(("base", "expected"), [*PUBLIC.items(), *TABLES.items(), *GRAPH.items(), *LEARNED.items()])
def test_topic_is_keyed_and_kept_as_designed(base: str, expected: tuple[str, str, timedelta | None, bool]) -> None:
    topic = TOPICS[base]

    assert (topic.key.value, topic.model.__name__, topic.retention, topic.compact) == expected


def test_log_of_truth_is_kept_for_ever() -> None:
    """Compacted by a key that no two versions share: only a tombstone, for what is forgotten, takes one away."""
    assert TOPICS["skill-diffs"].config()["cleanup.policy"] == "compact"
    assert diff_key("ann", "books", 1) != diff_key("ann", "books", 2)


def test_what_is_forgotten_is_gone_from_compacted_topics_within_days() -> None:
    """By default Kafka compacts a log once half of it is new, which may be never."""
    for topic in TOPICS.values():
        if topic.compact:
            assert int(topic.config()["max.compaction.lag.ms"]) <= DAY / timedelta(milliseconds=1)


def test_all_topics_of_users_have_the_same_partition_count() -> None:
    """They are joined by partition: one with another count, and a user's records never meet."""
    assert {t.partitions(12) for t in TOPICS.values() if t.key.value.startswith(("user_id", "item_id"))} == {12}


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


def numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], float]]:
    """The paths of all numbers and truth values of a record; not in an item's metadata, which are the app's."""
    if isinstance(value, dict):
        for name, part in value.items():
            if name != "metadata":
                yield from numbers(part, (*path, name))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from numbers(part, (*path, place))
    elif isinstance(value, bool | int | float):
        yield path, value


def with_value(record: Any, path: tuple[Any, ...], value: Any) -> bytes:
    changed = json.loads(json.dumps(record))
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return json.dumps(changed).encode()


def others(value: float) -> list[Any]:
    """The same in other types, which a lenient reader would take."""
    if isinstance(value, bool):
        return [int(value), float(value), str(value).lower(), "yes" if value else "no"]
    return [str(value), True, False, [value], *([] if isinstance(value, float) else [float(value), value + 0.5])]


@pytest.mark.parametrize("base", BASES)
def test_no_number_of_a_record_may_be_written_as_another_type(base: str) -> None:
    versioned = {"schema_version": 1} if "schema_version" in TOPICS[base].model.model_fields else {}
    record = json.loads(wire(base)) | versioned
    found = list(numbers(record))

    taken = []
    for path, value in found:
        for other in others(value):
            with suppress(BadRecord):
                decode(TOPICS[base].model, with_value(record, path, other))
                taken.append((path, other))

    assert found
    assert taken == []


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, list | tuple):
        for part in schema:
            yield from parts(part)
    elif isinstance(schema, dict):
        yield schema
        for name, part in schema.items():
            if name != "metadata":
                yield from parts(part)


def models(base: type[Model] = Model) -> Iterator[type[Model]]:
    for each in base.__subclasses__():
        yield each
        yield from models(each)


def test_every_model_reads_numbers_strictly() -> None:
    """Also those that no example has, and those that come later."""
    lenient = {
        model.__name__
        for model in models()
        for part in parts(model.__pydantic_core_schema__)
        if part.get("type") in ("int", "float", "bool") and not part.get("strict")
    }

    assert len(list(models())) > len(TOPICS)
    assert lenient == set()
