from collections.abc import Callable

import pytest

from operators.statinit import generic
from schemas import MAX_FACTS, Candidate

Read = Callable[..., dict[str, list[str]]]


def test_structured_attributes_are_taken_as_given(read: Read) -> None:
    found = read(generic.parse, Brand="Okapi", cookTime=30, colours=["Red", "Teal"], vegan=True, spicy=False)

    assert found == {"brand": ["Okapi"], "colours": ["red", "teal"], "cook_time": ["30"], "feature": ["vegan"]}


def test_title_and_description_are_never_read(read: Read) -> None:
    assert read(generic.parse, "A dark comedy", "directed by Mina Sorel", description="A spy.", plot="A spy.") == {}


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


def test_plurals_go_under_the_names_that_the_domains_use(read: Read) -> None:
    assert read(generic.parse, genres="Sagas, Epics", Directors="Mina Sorel", price_range="$$") == {
        "director": ["Mina Sorel"],
        "genre": ["sagas", "epics"],
        "price": ["$$"],
    }


def test_a_comma_in_a_plain_attribute_is_part_of_it(read: Read) -> None:
    assert read(generic.parse, origin="Varga, Upper Valley") == {"origin": ["varga, upper valley"]}


def test_many_keys_share_the_room() -> None:
    metadata = {f"key{n:02}": ["a", "b", "c", "d", "e", "f"] for n in range(12)}

    found = generic.parse(Candidate(item_id="g1", metadata=metadata))

    assert len(found) <= MAX_FACTS
    assert {fact.dimension for fact in found} == set(metadata)


def test_the_order_of_the_keys_does_not_matter() -> None:
    metadata = {"b": "1", "a": "2", "B": "3"}
    backwards = dict(reversed(metadata.items()))

    assert generic.parse(Candidate(item_id="g", metadata=metadata)) == generic.parse(
        Candidate(item_id="g", metadata=backwards)
    )
