"""A reply is read if it fits its schema, and nothing that a model writes breaks the reader."""

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.llm.replies import BadReply, read, without_sizes
from tests.unit.llm.llm_builders import SCHEMA

NESTED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "judged": {"$ref": "#/$defs/judged"},
        "list": {"type": "array", "items": {"$ref": "#/$defs/word"}, "minItems": 1},
    },
    "required": ["n", "judged", "list"],
    "additionalProperties": False,
    "$defs": {
        "word": {"type": "string", "enum": ["a", "b"]},
        "judged": {"type": "object", "properties": {"w": {"$ref": "#/$defs/word"}}, "required": ["w"]},
    },
}

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.sampled_from(["a", "b", "c", ""]))
WORDS = st.one_of(st.just("a"), SCALARS)
NEARLY = st.fixed_dictionaries(
    {
        "n": st.one_of(st.integers(-5, 5), SCALARS),
        "judged": st.one_of(st.fixed_dictionaries({"w": WORDS}, optional={"more": SCALARS}), SCALARS),
        "list": st.one_of(st.lists(WORDS, max_size=3), SCALARS),
    },
    optional={"extra": SCALARS},
)


@given(NEARLY)
def test_a_reply_is_read_if_and_only_if_it_fits(value: dict[str, Any]) -> None:
    if jsonschema.Draft202012Validator(NESTED).is_valid(value):
        assert read(json.dumps(value), NESTED) == value
    else:
        with pytest.raises(BadReply):
            read(json.dumps(value), NESTED)


@given(st.text())
def test_any_text_is_an_answer_or_a_bad_reply(text: str) -> None:
    with pytest.raises(BadReply):
        read(text, SCHEMA)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 900 + "1" + "}" * 900, '{"why": "\ud800"}', "{" + "[" * 900 + "]" * 900]
)
def test_hostile_nesting_and_surrogates_are_bad_replies(text: str) -> None:
    with pytest.raises(BadReply):
        read(text, SCHEMA)


def test_deep_nesting_under_a_name_that_the_schema_does_not_know_is_a_bad_reply() -> None:
    deep = '{"why": "x", "fits": "yes", "best": [], "more": ' + "[" * 900 + "]" * 900 + "}"
    with pytest.raises(BadReply, match="additionalProperties"):
        read(deep, SCHEMA)


def test_what_is_too_long_is_cut_not_refused() -> None:
    wordy = {"why": "w" * 500, "fits": "no", "best": ["c", "b", "a"]}
    assert read(json.dumps(wordy), SCHEMA) == {"why": "w" * 40, "fits": "no", "best": ["c", "b"]}


def test_complaints_do_not_quote_the_model() -> None:
    with pytest.raises(BadReply) as caught:
        read('{"why": "x", "fits": "maybe-secret", "best": [], "secret-name": 1}', SCHEMA)
    assert "secret" not in str(caught.value)


def test_sizes_are_taken_out_at_every_depth_but_properties_of_that_name_stay() -> None:
    schema = {
        "properties": {"maxItems": {"type": "array", "maxItems": 1, "items": {"type": "string", "maxLength": 1}}},
        "$defs": {"x": {"type": "string", "maxLength": 3}},
    }
    assert without_sizes(schema) == {
        "properties": {"maxItems": {"type": "array", "items": {"type": "string"}}},
        "$defs": {"x": {"type": "string"}},
    }
