"""Files of persons: what they say is read, what they lack is nothing, and no file stops the others."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.conversations.layout import About, Person, Unreadable, person, read, turns_of
from schemas import Role
from schemas.utterances import MAX_UTTERANCE_CHARS
from tests.unit.conversations.conversation_builders import element, forget, person_of, update


def test_persons_are_read_in_the_order_that_people_sort_in(tmp_path):
    for place in (10, 9, 1):
        document = {"uuid": {"conversations": {"chat": [element("Likes tea", "I like tea.")]}}}
        (tmp_path / f"raw_data_x_persona{place}.json").write_text(json.dumps(document))

    assert [each.user_id for each in read(tmp_path)] == [f"raw_data_x_persona{place}" for place in (1, 9, 10)]
    assert len(list(read(tmp_path, 2))) == 2


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', '{"a": {"b": []}}', "[" * 100_000, "\ud800", "null"])
def test_a_file_that_is_none_of_a_person_is_told_and_the_others_go_on(tmp_path, text):
    bad = tmp_path / "a_persona0.json"
    bad.write_bytes(text.encode("utf-8", "surrogatepass"))
    (tmp_path / "a_persona1.json").write_text(json.dumps({"u": {"conversations": {}}}))

    first, second = read(tmp_path)

    assert isinstance(first, Unreadable)
    assert (first.path, bool(first.why)) == (bad, True)
    assert isinstance(second, Person)


def test_a_folder_without_persons_is_an_error_that_names_it(tmp_path):
    with pytest.raises(match=str(tmp_path)):
        list(read(tmp_path))


def test_an_element_tells_what_it_is_about():
    told = person_of(
        element("Likes tea", "I like tea."),
        element("Likes rum", "He likes rum.", who="others"),
        element("Migraine", "My head.", pref_type="health_and_medical_conditions"),
        {"sensitive_info": "passport_number: C01X00T47", "conversations": [{"role": "user", "content": "C01X00T47"}]},
        forget("Likes tea", "Forget that I like tea."),
        element("", "Hello."),
    )

    abouts = [talk.about for talk in told.talks]

    assert abouts == [About.PREFERENCE] * 2 + [About.SENSITIVE] * 2 + [About.FORGET, About.NOTHING]
    assert [talk.of_others for talk in told.talks] == [False, True, False, False, False, False]
    assert (told.talks[4].preference, told.talks[4].before) == ("Likes tea", "Likes tea")
    assert list(told.sensitive.values()) == ["C01X00T47"]


def test_what_is_to_be_forgotten_is_read_from_the_quote_where_no_field_names_it():
    [talk] = person_of(forget("Likes 'old' tea", "Forget it.") | {"prev_pref": None}).talks

    assert (talk.about, talk.preference) == (About.FORGET, "Likes 'old' tea")


def test_nothing_is_taken_back_before_it_was_said():
    older, newer = element("Likes tea", "I like tea."), update("Likes rum", "Likes tea", "I like rum now.")

    told = person_of(newer, forget("Likes rum", "Forget that I like rum."), older)

    assert [talk.preference for talk in told.talks] == ["Likes tea", "Likes rum", "Likes rum"]
    assert [talk.about for talk in told.talks][-1] is About.FORGET


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            "User: I ski.\nAssistant: Where?\nUser: Here.",
            [("user", "I ski."), ("assistant", "Where?"), ("user", "Here.")],
        ),
        ("I ski.", [("user", "I ski.")]),
        (["User: I ski.", "Assistant: Where?"], [("user", "I ski."), ("assistant", "Where?")]),
        ([{"role": "Human", "content": "I ski."}], [("user", "I ski.")]),
        ([{"role": "system", "content": "Be kind."}], [("other", "Be kind.")]),
        ([{"content": [{"type": "text", "text": "I ski."}, {"type": "image_url"}]}], [("user", "I ski.")]),
        ([{"role": "user"}, {"role": "user", "content": " "}, 7, None], []),
        (None, []),
    ],
)
def test_turns_are_read_in_every_form_in_which_they_come(told, expected):
    assert [(turn.role.value, turn.text) for turn in turns_of(told)] == expected


def test_unreadable_parts_are_counted_by_reason():
    told = person_of(element("Likes ink", "I" * (MAX_UTTERANCE_CHARS + 1)), element("Likes ice"))

    assert sorted(told.skipped.values()) == [1, 1]
    assert all(why.startswith("conversations with") for why in told.skipped)


@pytest.mark.parametrize(
    ("told", "secret"),
    [
        ("passport: C01X00T47", "C01X00T47"),
        ("C01X00T47", "C01X00T47"),
        ({"passport": "C01X00T47"}, "C01X00T47"),
        (None, None),
        ({}, None),
    ],
)
def test_what_a_conversation_lets_slip_is_read_in_every_form(told, secret):
    [talk] = person_of({"sensitive_info": told, "conversations": [{"role": "user", "content": "Hello."}]}).talks

    assert talk.secret == secret


@pytest.mark.parametrize(
    ("told", "found"),
    [
        (
            {"ssn": "123", "accounts": {"bank": "45", "card": "67"}},
            {"ssn": "123", "accounts-bank": "45", "accounts-card": "67"},
        ),
        ({"phone": ["12", "34"]}, {"phone-0": "12", "phone-1": "34"}),
        (["12", {"pin": 34}], {"0": "12", "1-pin": "34"}),
        ("12", {"": "12"}),
        ({"none": None, "empty": "", "yes": True}, {}),
    ],
)
def test_sensitive_values_are_read_however_deep_they_stand(told, found):
    assert person("anna", {"conversations": {}, "sensitive_information": told}).sensitive == found


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
