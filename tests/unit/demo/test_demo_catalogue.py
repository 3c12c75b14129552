"""The demo's catalogue is tidy, and the domain parsers read from it all that its people want."""

import random
from collections import Counter
from collections.abc import Iterator
from functools import cache
from statistics import mean

import pytest

from operators.statinit import parser_for
from schemas import Candidate, Fact
from streams.demo.catalogue import DOMAINS, domain_of, load
from streams.demo.people import candidates, choose, offered, simulate

KEYS = {
    "films": {"director", "year", "genres", "moods"},
    "books": {"author", "year", "genres", "moods"},
    "restaurants": {"city", "price", "categories", "ambience", "meal"},
}
FIRST_YEAR = {"films": 1930, "books": 1800}


def values(item: Candidate) -> Iterator[tuple[str, str]]:
    for key, value in item.metadata.items():
        if key == "year":
            assert isinstance(value, int)
            yield "decade", f"{value // 10}0s"
        else:
            yield from ((key, str(part)) for part in (value if isinstance(value, list) else [value]))


def test_about_two_hundred_and_fifty_items_in_three_domains() -> None:
    assert tuple(load()) == DOMAINS
    assert {domain: len(items) for domain, items in load().items()} == {"films": 100, "books": 81, "restaurants": 69}


def test_ids_are_unique_and_name_their_domain() -> None:
    ids = [(domain, item.item_id) for domain, items in load().items() for item in items]
    assert len({item_id for _, item_id in ids}) == len(ids)
    assert all(domain_of(item_id) == domain for domain, item_id in ids)


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_item_has_a_title_of_its_own_and_all_the_keys_an_app_would_send(domain: str) -> None:
    items = load()[domain]
    assert len({item.title for item in items}) == len(items)
    for item in items:
        assert item.title
        assert set(item.metadata) == KEYS[domain]


@pytest.mark.parametrize("domain", DOMAINS)
def test_values_are_tidy(domain: str) -> None:
    for item in load()[domain]:
        pairs = list(values(item))
        assert len(set(pairs)) == len(pairs), item.item_id
        assert all(value and value == value.strip() for _, value in pairs), item.item_id


@pytest.mark.parametrize("domain", FIRST_YEAR)
def test_years_are_plausible(domain: str) -> None:
    for item in load()[domain]:
        year = item.metadata["year"]
        assert isinstance(year, int)
        assert FIRST_YEAR[domain] <= year <= 2024, item.item_id


def test_restaurants_have_one_of_four_price_tiers() -> None:
    assert {item.metadata["price"] for item in load()["restaurants"]} == {"$", "$$", "$$$", "$$$$"}


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_value_is_shared_by_at_least_four_items(domain: str) -> None:
    counts = Counter(pair for item in load()[domain] for pair in values(item))
    assert {pair: n for pair, n in counts.items() if n < 4} == {}


def test_the_shared_mapping_cannot_be_changed() -> None:
    assert load() is load()
    with pytest.raises(TypeError):
        load()["films"] = ()  # type: ignore[index]


@cache
def parsed(item_id: str) -> tuple[Fact, ...]:
    domain = domain_of(item_id)
    return parser_for(domain, {})(next(item for item in load()[domain] if item.item_id == item_id))


def facts_of(item: Candidate) -> tuple[Fact, ...]:
    return parsed(item.item_id)


DIMENSIONS = {
    "films": {"genre", "director", "mood", "era", "year"},
    "books": {"genre", "author", "mood", "era", "year"},
    "restaurants": {"category", "price", "city", "ambience", "meal"},
}


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_parser_reads_every_dimension_of_every_item(domain: str) -> None:
    for item in load()[domain]:
        assert {fact.dimension for fact in facts_of(item)} == DIMENSIONS[domain], item.item_id


def test_every_wanted_fact_is_parsed_from_at_least_four_items() -> None:
    offers = {domain: offered(items, facts_of) for domain, items in load().items()}
    for person in simulate(300, 1, load(), facts_of):
        for want in person.policy.wants:
            assert len(offers[person.domain][want.fact]) >= 4


def test_the_people_want_facts_of_every_dimension() -> None:
    wanted: dict[str, set[str]] = {domain: set() for domain in DOMAINS}
    for person in simulate(60, 1, load(), facts_of):
        wanted[person.domain] |= {want.fact.dimension for want in person.policy.wants}
    assert wanted == DIMENSIONS


@pytest.mark.parametrize("domain", DOMAINS)
def test_on_parsed_facts_too_who_knows_the_policy_hits_six_to_eight_times_in_ten(domain: str) -> None:
    hits = []
    for person in (p for p in simulate(90, 1, load(), facts_of) if p.domain == domain):
        rng = random.Random(person.user_id)
        for _ in range(40):
            slate = candidates(person, load(), rng)
            best = max(slate, key=lambda c, policy=person.policy: policy.utility(facts_of(c)))  # type: ignore[misc]
            hits.append(choose(person, slate, facts_of, rng) == best.item_id)
    assert 0.6 <= mean(hits) <= 0.8
