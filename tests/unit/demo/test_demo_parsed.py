"""The hidden policies can be learned: what they want is what the domain parsers read from the catalogue."""

from functools import cache

import pytest

from operators.statinit import parser_for
from schemas import Candidate, Fact
from streams.demo.catalogue import DOMAINS, domain_of, load
from streams.demo.people import offered, simulate


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
