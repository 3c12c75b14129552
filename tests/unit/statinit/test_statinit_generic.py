from collections.abc import Callable

import pytest

from operators.statinit import generic

Read = Callable[..., dict[str, list[str]]]


def test_structured_attributes_are_taken_as_given(read: Read) -> None:
    found = read(generic.parse, Brand="Okapi", cookTime=30, colours=["Red", "Teal"], vegan=True, spicy=False)

    assert found == {"brand": ["Okapi"], "colours": ["red", "teal"], "cook_time": ["30"], "feature": ["vegan"]}


@pytest.mark.parametrize(
    "value", [1.25, 4.0, None, 123_456, "long " * 30, "one two three four five six seven eight nine", {}]
)
def test_floats_long_numbers_and_long_texts_are_left_out(read: Read, value: object) -> None:
    assert read(generic.parse, trait=value) == {}


@pytest.mark.parametrize(
    "key", ["id", "user_id", "imageUrl", "ISBN13", "phone", "latitude", "2nd", "", "Größe!", "x" * 60]
)
def test_identifiers_and_unusable_keys_are_left_out(read: Read, key: str) -> None:
    assert read(generic.parse, **{key: "value"}) in ({}, {"gr_e": ["value"]})
