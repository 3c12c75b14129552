"""Attribute identity (DESIGN 6, Merge): a normalised id, never free text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from operators.attributes import attribute_id, fact_id, from_fact, kind_of, normalise
from schemas import Attribute, Evidence, Kind, Source, Tier, decode, encode
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
    [
        ("noir", "noire"),
        ("$", "$$"),
        ("€", "€€"),
        ("C", "C++"),
        ("C", "C#"),
        ("R&B", "RB"),
        ("की", "का"),
        ("ไม้", "ไม่"),
        ("🍕", "🍣"),
        ("!!!", "???"),
        ("ﷺ" * 119 + "a", "ﷺ" * 119 + "b"),
    ],
)
def test_different_values_have_different_ids(one: str, other: str) -> None:
    assert attribute_id(Kind.PREFERENCE, "genre", one) != attribute_id(Kind.PREFERENCE, "genre", other)


def test_kind_and_dimension_are_part_of_the_identity() -> None:
    ids = {attribute_id(kind, dimension, "dark") for kind in Kind for dimension in ("genre", "mood")}

    assert len(ids) == 6


def test_principles_of_ranking_are_criteria_and_the_rest_preferences() -> None:
    assert {name: kind_of(a_fact(f"{name}: x")) for name in ("era", "rating", "popularity", "genre", "price")} == {
        "era": Kind.CRITERION,
        "rating": Kind.CRITERION,
        "popularity": Kind.CRITERION,
        "genre": Kind.PREFERENCE,
        "price": Kind.PREFERENCE,
    }


def test_attribute_of_a_fact_keeps_the_facts_spelling() -> None:
    evidence = Evidence(event_id="c1", item_id="i1")

    attribute = from_fact(a_fact("genre: Film Noir"), Tier.LOW, Source.DISCOVERED, confirmed_at=3, evidence=evidence)

    assert attribute == Attribute(
        attribute_id="preference:genre:film-noir",
        kind=Kind.PREFERENCE,
        dimension="genre",
        value="Film Noir",
        tier=Tier.LOW,
        source=Source.DISCOVERED,
        support=1,
        confirmed_at=3,
        evidence=(evidence,),
    )


@settings(max_examples=300, deadline=None, derandomize=True)
@given(LABELS)
def test_any_value_has_an_id_that_fits_and_that_stands(value: str) -> None:
    name = attribute_id(Kind.PREFERENCE, "genre", value)

    TypeAdapter(AttributeId).validate_python(name)
    assert name != "preference:genre:"
    assert name == fact_id(a_fact(f"genre: {value}"))
    attribute = from_fact(a_fact(f"genre: {value}"), Tier.LOW, Source.PRIOR)
    assert decode(Attribute, encode(attribute)) == attribute


@settings(max_examples=300, deadline=None, derandomize=True)
@given(LABELS)
def test_normalising_twice_is_normalising_once(value: str) -> None:
    assert normalise(normalise(value)) == normalise(value)
