"""What can be measured of an item, in every spelling, and nothing from what is no measure."""

import string
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators import statinit
from operators.attributes import fact_id
from operators.statinit import UnknownParser, books, generic, movietv, parser_for, text, yelp
from operators.statinit.measures import MAX_NUMBERS, measures_of
from schemas import MAX_FACTS, MAX_MEASURE, Candidate, Fact, ItemFacts, Measure, decode, encode


@pytest.mark.parametrize(
    ("domain", "parser"),
    [
        *((domain, yelp.parse) for domain in ("yelp", "places", "restaurants")),
        *((domain, books.parse) for domain in ("books", "goodreads", "amazon_books")),
        *((domain, movietv.parse) for domain in ("movietv", "movies", "films", "movielens")),
        ("recipes", generic.parse),
    ],
)
def test_a_domain_finds_its_parser(domain: str, parser: statinit.Parser) -> None:
    assert parser_for(domain, {}) is parser


def test_an_unknown_parser_is_an_error_that_lists_the_parsers() -> None:
    with pytest.raises(UnknownParser, match=r"'wine'.*'vinos'.*books.*generic.*movietv.*yelp"):
        parser_for("wine", {"wine": "vinos"})


def parse_wine(candidate: Candidate) -> tuple[Fact, ...]:
    return (Fact(dimension="grape", value="assyrtiko"),)


@pytest.fixture
def _plugged_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    point = EntryPoint(name="wine", value=f"{__name__}:parse_wine", group=statinit.ENTRY_POINTS)
    monkeypatch.setattr(EntryPoint, "load", lambda _self: parse_wine)
    monkeypatch.setattr(statinit, "entry_points", lambda group: [point] if group == "sager.domains" else [])
    _forget()
    yield
    _forget()


def _forget() -> None:
    statinit._load_plugin.cache_clear()


@pytest.mark.usefixtures("_plugged_in")
def test_an_installed_package_plugs_in_its_domain() -> None:
    assert parser_for("wine", {}) is parse_wine
    assert parser_for("cellar", {"cellar": "wine"}) is parse_wine
    assert "wine" in statinit.known_parsers()


Read = Callable[..., dict[str, list[str]]]


def test_categories_written_as_a_python_list_give_genres(read: Read) -> None:
    found = read(books.parse, categories="['Mystery, Thriller & Suspense', 'Historical Mystery']")

    assert found["genre"] == ["mystery", "thriller", "historical"]
    assert found["category"] == ["historical mystery", "mystery, thriller & suspense"], "the finest first"


def test_genres_come_from_plot_words_when_nothing_is_structured(read: Read) -> None:
    found = read(books.parse, "The Glass Orchard", "A detective hunts a dragon. The detective is a wizard.")

    assert found["genre"] == ["mystery", "fantasy"]


def test_structured_attributes_become_facts(read: Read) -> None:
    found = read(generic.parse, Brand="Okapi", cookTime=30, colours=["Red", "Teal"], vegan=True, spicy=False)

    assert found == {"brand": ["Okapi"], "colours": ["red", "teal"], "feature": ["vegan"]}


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


@pytest.mark.parametrize(
    "genres",
    [
        "Action|Sci-Fi",
        "Action, Science Fiction",
        ["Action", "SciFi"],
        "['Action', 'Sci-Fi']",
        [{"name": "Action"}, "Sci-Fi"],
    ],
)
def test_every_spelling_of_genres_is_read(read: Read, genres: object) -> None:
    assert read(movietv.parse, genres=genres) == {"genre": ["action", "sci-fi"]}
    assert read(movietv.parse, Genre=genres) == {"genre": ["action", "sci-fi"]}


def test_era_year_and_country_are_read(read: Read) -> None:
    assert read(movietv.parse, "Pier (1974)", country="Chile|Peru") == {
        "country": ["Chile"],
        "era": ["1970s"],
        "year": ["1974 releases"],
    }


SPELLINGS: list[dict[str, Any]] = [
    {"Ambience.casual": "True", "Ambience.divey": "False", "GoodForMeal.latenight": "True"},
    {"Ambience": "{'romantic': False, 'casual': True}", "GoodForMeal": "{u'latenight': True, u'lunch': False}"},
    {"Ambience": {"romantic": False, "casual": True}, "GoodForMeal": {"latenight": True}},
    {"Ambience": "Ambience_casual", "GoodForMeal": "GoodForMeal_latenight", "Flags": "GoodForKids OutdoorSeating"},
]


@pytest.mark.parametrize("attributes", SPELLINGS)
def test_all_four_spellings_of_attributes_are_equal(read: Read, attributes: dict[str, Any]) -> None:
    expected = {"ambience": ["casual"], "meal": ["late night"]}

    assert read(yelp.parse, attributes=attributes) == expected
    assert read(yelp.parse, attributes=str(attributes)) == expected or "'{" in str(attributes)
    assert read(yelp.parse, **attributes) == expected, "the attributes may stand in the metadata itself"


@pytest.mark.parametrize("categories", ["Restaurants, Ramen, Bars, Food", ["Restaurants", "Ramen", "Bars", "Food"]])
def test_categories_of_all_places_are_dropped(read: Read, categories: object) -> None:
    assert read(yelp.parse, categories=categories) == {"category": ["ramen", "bars"]}


def test_a_place_has_its_area_price_and_rating(read: Read) -> None:
    found = read(yelp.parse, postal_code=89109, latitude="36.1147", longitude=-115.1728, stars="4.5", price=2)

    assert found == {"area": ["89109", "around 36.10 -115.15"], "price": ["$$"], "rating": ["highly rated"]}
    assert read(yelp.parse, latitude=91, longitude=0, stars=3.5) == {}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Noir|Heist", ["Noir", "Heist"]),
        ("Ramen, Bubble Tea", ["Ramen", "Bubble Tea"]),
        ("['Arts, Crafts & Sewing', \"Children's\"]", ["Arts, Crafts & Sewing", "Children's"]),
        ("[u'Drama', u'War']", ["Drama", "War"]),
        ([{"id": 7, "name": "Western"}], ["Western"]),
        ("[{'id': 7, 'name': 'Western'}]", ["Western"]),
        ({"epics": 12, "poems": 0}, ["epics"]),
        (1999, ["1999"]),
        (None, []),
    ],
)
def test_every_spelling_of_a_list_is_read(raw: object, expected: list[str]) -> None:
    assert text.as_list(raw) == expected


@pytest.mark.parametrize(
    "hostile",
    [
        "[" * 4_000 + "]" * 4_000,
        "[" * 300 + "1" + "]" * 300,
        "[" + "-" * 3_000 + "1]",
        "[__import__('os').system('true')]",
        "[1if 2else 3]",
        "['\\d\\q']",
        "['a'" * 500 + "]",
        "{[]: 1}",
        "[" + "9" * 4_000 + "]",
        "(" + "'" * 3_001 + ")",
        "[\x00]",
    ],
)
def test_no_literal_can_harm_or_warn(hostile: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(isinstance(entry, str) for entry in text.as_list(hostile))


@pytest.mark.parametrize(
    ("metadata", "title", "year", "era"),
    [
        ({"year": 1987}, "", "1987", "1980s"),
        ({"year": "n/a", "published": "May 1999"}, "", "1999", "1990s"),
        ({"year": 10**30}, "Dust (1921)", "1921", "1920s"),
        ({"year": True}, "", "", ""),
        ({}, "2001 Nights", "", ""),
        ({}, "Harbour (2011)", "2011", "2010s"),
    ],
)
def test_the_year_is_read_and_the_era_is_its_decade(
    metadata: dict[str, object], title: str, year: str, era: str
) -> None:
    assert text.year(text.fold_keys(metadata), title) == year
    assert [values for _, values, _ in text.year_groups(year)][:1] == ([(era,)] if era else [])


def test_facts_are_distinct_and_bounded() -> None:
    found = text.facts(("genre", ["Sci-Fi", "sci fi", "???", "Noir"], 9), ("tag", (f"t{n}" for n in range(99)), 99))

    assert [fact.value for fact in found[:2]] == ["Sci-Fi", "Noir"]
    assert len(found) == MAX_FACTS


KEYS = [
    *sorted({key for keys in text.KEYS.values() for key in keys}),
    *("attributes", "stars", "rating", "description", "Ambience.casual", "GoodForMeal.lunch"),
]
PIECES = """directed by Mina Sorel;a novel by Bo Lind;VHS VG+;Used: Good;['a', 'b|c'];{'casual': True};[[[;(;\\x00;u'4';
$$;2;1995-01-01;Ambience_casual;<b>;&amp;;&#0;;\ufb01ction;\u0130;\u01c4;\u202e;\u00a0;dark funny epic;|;,;';\"
"""
WORDS = st.sampled_from(PIECES.split(";"))
TEXTS = st.one_of(
    st.text(max_size=80),
    st.lists(WORDS, max_size=12).map(" ".join),
    st.text(alphabet="[]{}()'\",:|\\ -u0truefalsN", max_size=120),
    st.builds(lambda piece, times: (piece * times)[:4_000], WORDS, st.integers(1, 900)),
)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.just(10**4_000),
        st.floats(allow_nan=False, allow_infinity=False),
        TEXTS,
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(st.one_of(st.sampled_from([*KEYS, "name"]), st.text(max_size=20)), inner, max_size=4),
    ),
    max_leaves=12,
)
METADATA = st.dictionaries(
    st.one_of(st.sampled_from(KEYS), st.text(max_size=30), st.text(string.ascii_letters + " _-.", max_size=30)),
    VALUES,
    max_size=12,
)


@st.composite
def candidates(draw: st.DrawFn) -> Candidate:
    try:
        return Candidate(
            item_id="i1", title=draw(TEXTS)[:500], description=draw(TEXTS)[:4_000], metadata=draw(METADATA)
        )
    except ValueError:  # deeper than a candidate may be
        return Candidate(item_id="i1")


@pytest.mark.parametrize("parser", statinit.BUILT_IN)
@settings(max_examples=100, deadline=None)
@given(candidate=candidates())
def test_no_parser_raises_or_exceeds_its_bounds(parser: str, candidate: Candidate) -> None:
    parse = statinit.BUILT_IN[parser]

    facts = parse(candidate)

    assert parse(candidate) == facts
    assert len(facts) <= MAX_FACTS
    assert len({fact_id(fact) for fact in facts}) == len(facts)
    for fact in facts:
        assert 1 <= len(fact.value) <= text.MAX_LABEL
        assert fact.value == fact.value.strip()
        assert fact.value.isprintable()


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"distance_m": 800}, {"distance": 0.8}),
        ({"distance": "2 mi"}, {"distance": 3.218}),
        ({"duration": "1h 30m"}, {"length": 90.0}),
        ({"attributes": {"RestaurantsPriceRange2": "3"}}, {"price": 3.0}),
        ({"distance_miles": "1 mile"}, {"distance": 1.609}),
        ({"distance": "1,200 m", "duration": "PT1H30M"}, {"distance": 1.2, "length": 90.0}),
        ({"distance_m": "800 m", "duration": "1.5 hours"}, {"distance": 0.8, "length": 90.0}),
        ({"cost": "1,250", "duration": "1h30"}, {"price": 1250.0, "length": 90.0}),
        ({"price": "1.299,00 \u20ac", "votes": "1.234.567"}, {"price": 1299.0, "popularity": 1_234_567.0}),
        ({"price": "1\u202f299,50", "apr": 0.00425}, {"price": 1299.5, "apr": 0.00425}),
        ({"rating": True, "votes": -5, "pages": "-20", "distance": "far"}, {}),
    ],
)
def test_a_measure_is_read_in_one_unit(metadata: dict[str, Any], expected: dict[str, float]) -> None:
    assert measures_of(Candidate(item_id="i1", metadata=metadata)) == expected


@settings(max_examples=150, deadline=None)
@given(candidates())
def test_any_item_has_bounded_measures(item: Candidate) -> None:
    found = measures_of(item)

    assert set(found) <= {measure.value for measure in Measure} | set(map(generic.dimension_of, item.metadata))
    assert len(found) <= MAX_NUMBERS
    assert all(0 <= amount <= MAX_MEASURE for amount in found.values())
    kept = ItemFacts(item_id="i1", measures=found)
    assert decode(ItemFacts, encode(kept)) == kept
