"""Files of persons: what they say is read, what they lack is nothing, and no file stops the others."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.conversations.layout import About, Person, Unreadable, person, read, turns_of
from schemas import Role
from tests.unit.conversations.conversation_builders import forget, person_of


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', '{"a": {"b": []}}', "[" * 100_000, "\ud800", "null"])
def test_a_file_that_is_none_of_a_person_is_told_and_the_others_go_on(tmp_path, text):
    bad = tmp_path / "a_persona0.json"
    bad.write_bytes(text.encode("utf-8", "surrogatepass"))
    (tmp_path / "a_persona1.json").write_text(json.dumps({"u": {"conversations": {}}}))

    first, second = read(tmp_path)

    assert isinstance(first, Unreadable)
    assert (first.path, bool(first.why)) == (bad, True)
    assert isinstance(second, Person)


def test_what_is_to_be_forgotten_is_read_from_the_quote_where_no_field_names_it():
    [talk] = person_of(forget("Likes 'old' tea", "Forget it.") | {"prev_pref": None}).talks

    assert (talk.about, talk.preference) == (About.FORGET, "Likes 'old' tea")


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            "User: I ski.\nAssistant: Where?\nUser: Here.",
            [("user", "I ski."), ("assistant", "Where?"), ("user", "Here.")],
        ),
        ([{"role": "Human", "content": "I ski."}], [("user", "I ski.")]),
        ([{"content": [{"type": "text", "text": "I ski."}, {"type": "image_url"}]}], [("user", "I ski.")]),
        ([{"role": "user"}, {"role": "user", "content": " "}, 7, None], []),
        (None, []),
    ],
)
def test_turns_are_read_in_every_form_in_which_they_come(told, expected):
    assert [(turn.role.value, turn.text) for turn in turns_of(told)] == expected


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
fields = st.sampled_from(
    ("preference", "pref_type", "who", "conversations", "updated", "prev_pref", "user_query", "correct_answer", "x")
)


@given(st.lists(st.dictionaries(fields, json_values, max_size=9) | json_values, max_size=3), json_values)
def test_whatever_stands_in_a_file_makes_a_person(elements, sensitive):
    made = person("anna", {"conversations": {"chat": elements}, "sensitive_information": sensitive})

    assert all(turn.text and isinstance(turn.role, Role) for talk in made.talks for turn in talk.turns)
