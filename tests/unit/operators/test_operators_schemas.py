"""Bytes to events and back (invariant 9): every input is hostile.

Further parts: the topic registry: names, keys and what the broker is told.
"""

import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from schemas import MAX_METADATA_CHARS, BadRecord, Contrast, Interaction, Selection, decode, encode
from schemas.base import MAX_METADATA_DEPTH, MAX_METADATA_INT, MAX_METADATA_NODES, MIN_METADATA_INT, Metadata
from schemas.topics import TOPICS, UnknownTopic, by_name, compound_key, topic_of
from tests.builders import NOW, a_candidate, an_interaction

GOOD: dict[str, Any] = json.loads(encode(an_interaction(a_candidate(genre="noir"), event_id="e1")))


def refused(value: bytes | None) -> BadRecord:
    with pytest.raises(BadRecord) as caught:
        decode(Interaction, value)
    assert caught.value.reason in BadRecord.REASONS
    assert len(caught.value.detail) <= 1_000
    return caught.value


def changed(**fields: Any) -> bytes:
    return json.dumps({**GOOD, **fields}).encode()


class TestReasons:
    @pytest.mark.parametrize("value", [None, b""])
    def test_empty(self, value: bytes | None) -> None:
        assert refused(value).reason == "empty"

    @pytest.mark.parametrize(
        "value",
        [
            b"{",
            b"\x00",
            b"\xff\xfe\xfd",
            b" ",
            b"\xef\xbb\xbf{}",
            b"not json",
            b"{'a': 1}",
            b'{"a":"\\ud800"}',
            b'{"a":"\xc3\x28"}',
            b"[" * 100_000,
            b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
            b'{"offset":' + b"9" * 5_000 + b"}",
        ],
        ids=lambda value: repr(value[:12]),
    )
    def test_not_json(self, value: bytes) -> None:
        assert refused(value).reason == "not-json"

    @pytest.mark.parametrize("version", [0, 2, -1, 2**63 - 1])
    def test_unknown_version(self, version: int) -> None:
        assert refused(changed(schema_version=version)).reason == "unknown-version"

    @pytest.mark.parametrize(
        "fields",
        [
            {"event_id": ""},
            {"event_id": "x" * 257},
            {"event_id": "a\nb"},
            {"user_id": "a\u0000b"},
            {"user_id": 7},
            {"schema_version": 10**30},
            {"domain": "Books"},
            {"domain": "books\n"},
            {"occurred_at": "2026-01-01T00:00:00"},
            {"occurred_at": "9999-12-31T23:59:59-23:59"},
            {"occurred_at": 1e308},
            {"item": {"item_id": "i", "title": "x" * 501}},
            {"item": {"item_id": "i", "metadata": {str(n): n for n in range(129)}}},
            {"item": {"item_id": "i", "metadata": {"x" * 121: 1}}},
            {"item": {"item_id": "i", "metadata": {"a": int("9" * 400)}}},
        ],
        ids=lambda fields: json.dumps(fields)[:60],
    )
    def test_invalid(self, fields: dict[str, Any]) -> None:
        assert refused(changed(**fields)).reason == "invalid"

    @pytest.mark.parametrize("name", ["event_id", "occurred_at", "user_id", "domain", "item"])
    def test_a_missing_field_is_named(self, name: str) -> None:
        error = refused(json.dumps({k: v for k, v in GOOD.items() if k != name}).encode())

        assert error.reason == "invalid"
        assert name in error.detail

    @pytest.mark.parametrize("version", ["1", True, 1.0])
    def test_numbers_are_read_strictly(self, version: object) -> None:
        selection = {**GOOD, "ranking_id": "r", "item_id": "i", "skill_version": version}

        with pytest.raises(BadRecord, match="skill_version"):
            decode(Selection, json.dumps(selection).encode())

    def test_numbers_have_64_bits(self) -> None:
        largest = {"item": {"item_id": "i", "metadata": {"a": [2**64 - 1, -(2**63), 1e300]}}}
        assert decode(Interaction, changed(**largest)).item.metadata == largest["item"]["metadata"]
        assert "be finite, in 64 bits" in refused(changed(item={"item_id": "i", "metadata": {"a": 2**64}})).detail

        selection = {**GOOD, "ranking_id": "r", "item_id": "i"}
        assert decode(Selection, json.dumps({**selection, "skill_version": 2**63 - 1}).encode())
        with pytest.raises(BadRecord, match=r"skill_version: .* less than or equal to 9223372036854775807"):
            decode(Selection, json.dumps({**selection, "skill_version": 2**63}).encode())

    def test_detail_never_repeats_the_input(self) -> None:
        secret = "card 4111"

        assert secret not in refused(changed(domain=secret, occurred_at=secret)).detail


def test_every_model_knows_its_topic() -> None:
    for base, topic in TOPICS.items():
        assert topic.base == base
        assert base == topic.model.TOPIC  # type: ignore[attr-defined]
    assert topic_of(Contrast) is TOPICS["contrasts"]


@pytest.mark.parametrize("name", ["sager.nothing", "other.skills", "skills", "", "sager."])
def test_an_unknown_topic_error_lists_the_topics(name: str) -> None:
    with pytest.raises(UnknownTopic, match="slim-skills"):
        by_name(name)


def test_keys_separate_users_from_domains() -> None:
    assert compound_key('a","b', "c") != compound_key("a", 'b","c')


within = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)),
    max_leaves=20,
)
METADATA: TypeAdapter[dict[str, Any]] = TypeAdapter(Metadata)


def is_bounded(metadata: dict[str, Any]) -> bool:
    """One value after the other: at most so many, with so many characters, so deep, and finite numbers of 64 bits."""
    nodes, chars = 1, 0
    waiting: list[tuple[Any, int]] = [(metadata, 0)]
    while waiting:
        value, depth = waiting.pop()
        inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        nodes += len(inner)
        chars += len(value) if isinstance(value, str) else sum(map(len, value)) if isinstance(value, dict) else 0
        if isinstance(value, float) and not math.isfinite(value):
            return False
        if isinstance(value, int) and not MIN_METADATA_INT <= value <= MAX_METADATA_INT:
            return False
        if nodes > MAX_METADATA_NODES or chars > MAX_METADATA_CHARS or depth > MAX_METADATA_DEPTH:
            return False
        waiting += [(part, depth + 1) for part in inner]
    return True


@given(st.dictionaries(st.text(max_size=4), within, max_size=5), st.integers(0, 8), st.integers(1, 3_000))
@example({}, 4, 1)
@example({}, 5, 1)
@example({"a": "x" * (MAX_METADATA_CHARS - 9)}, 0, 1)
@example({"a": "x" * (MAX_METADATA_CHARS - 8)}, 0, 1)
@example({"a": MAX_METADATA_INT}, 0, 1)
@example({"a": MAX_METADATA_INT + 1}, 0, 1)
@example({"a": MIN_METADATA_INT - 1}, 0, 1)
@example({"a": math.inf}, 0, 1)
@example({"a": math.nan}, 0, 1)
def test_metadata_bounds_equal_a_plain_walk(inner: dict[str, Any], depth: int, width: int) -> None:
    metadata: Any = inner
    for _ in range(depth):
        metadata = [metadata]
    whole = {"depth": metadata, "wid": [1] * width}

    try:
        METADATA.validate_python(whole)
        taken = True
    except ValidationError:
        taken = False

    assert taken is is_bounded(whole)


@pytest.mark.parametrize("bad", [{"a": b"bytes"}, {"a": {1: 2}}, {"a": [NOW]}, {"a": (1,)}])
def test_metadata_must_be_json(bad: Any) -> None:
    with pytest.raises(ValidationError):
        METADATA.validate_python(bad)
