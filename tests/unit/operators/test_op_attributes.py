"""Attribute identity (DESIGN 6, Merge): a normalised id, never free text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from operators.attributes import attribute_id, fact_id, from_fact
from schemas import Attribute, Kind, Source, Tier, decode, encode
from schemas.fields import AttributeId
from tests.builders import a_fact

LABELS = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=120)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Science Fiction", "science-fiction"),
        ("  noir  ", "NOIR"),
        ("Straße", "STRASSE"),
        ("caf\u00e9", "cafe\u0301"),
        ("ﬁction", "fiction"),
        ("Rock 'n' Roll", "rock n roll"),
        ("\uff11\uff19\uff19\uff10s", "1990s"),
    ],
)
def test_spellings_of_one_attribute_share_an_id(one: str, other: str) -> None:
    assert attribute_id(Kind.PREFERENCE, "genre", one) == attribute_id(Kind.PREFERENCE, "genre", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("noir", "noire"), ("€", "€€"), ("C", "C#"), ("की", "का"), ("🍕", "🍣"), ("ﷺ" * 119 + "a", "ﷺ" * 119 + "b")],
)
def test_different_values_have_different_ids(one: str, other: str) -> None:
    assert attribute_id(Kind.PREFERENCE, "genre", one) != attribute_id(Kind.PREFERENCE, "genre", other)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(LABELS)
def test_any_value_has_an_id_that_fits_and_that_stands(value: str) -> None:
    name = attribute_id(Kind.PREFERENCE, "genre", value)

    TypeAdapter(AttributeId).validate_python(name)
    assert name != "preference:genre:"
    assert name == fact_id(a_fact(f"genre: {value}"))
    attribute = from_fact(a_fact(f"genre: {value}"), Tier.LOW, Source.PRIOR)
    assert decode(Attribute, encode(attribute)) == attribute
