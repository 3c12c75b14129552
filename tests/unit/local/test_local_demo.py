"""The people are tested on a small made-up domain and on the catalogue's metadata as given, without any parser."""

from collections import Counter
from functools import cache
from itertools import pairwise

from operators.attributes import fact_id
from schemas import Candidate, Domain, Fact, ItemId, Tier, UserId
from streams.local.demo.catalogue import load
from streams.local.demo.people import (
    MAX_OVERLAP,
    MIN_ITEMS,
    Person,
    Want,
    items_by_fact,
    simulate,
)


def facts_as_given(item: Candidate) -> tuple[Fact, ...]:
    found = []
    for key, value in item.metadata.items():
        if isinstance(value, int):
            found.append(Fact(dimension="era", value=f"{value // 10}0s"))
        else:
            found += [Fact(dimension=key, value=str(v)) for v in (value if isinstance(value, list) else [value])]
    return tuple(found)


def fact(value: str, dimension: str = "genre") -> Fact:
    return Fact(dimension=dimension, value=value)


def item(item_id: str, *genres: str) -> Candidate:
    return Candidate(item_id=ItemId(item_id), metadata={"genre": list(genres)})


def person(*wants: Want, temperature: float = 0.5) -> Person:
    return Person(UserId("ada"), Domain("films"), wants, temperature)


@cache
def people(n: int = 60, seed: int = 1) -> list[Person]:
    return simulate(n, seed, load(), facts_as_given)


WESTERN, WAR = Want(fact("western"), 3.0, early=True), Want(fact("war"), 1.0)


class TestSimulate:
    def test_the_same_seed_gives_the_same_people_and_another_seed_others(self) -> None:
        assert people(seed=3) == people(seed=3)
        assert people(seed=3) != people(seed=4)

    def test_a_person_wants_three_or_four_facts_of_different_dimensions(self) -> None:
        sizes = Counter(len(p.wants) for p in people())
        assert set(sizes) == {3, 4}
        for p in people():
            assert len({w.fact.dimension for w in p.wants}) == len(p.wants)
            assert all(a.weight > b.weight > 0 for a, b in pairwise(p.wants))

    def test_wants_have_several_items_and_overlap_little(self) -> None:
        for p in people(150):
            offer = items_by_fact(load()[p.domain], facts_as_given)
            ids = [offer[w.fact] for w in p.wants]
            assert all(len(i) >= MIN_ITEMS for i in ids)
            for a in range(len(ids)):
                for b in range(a):
                    assert len(ids[a] & ids[b]) <= MAX_OVERLAP * min(len(ids[a]), len(ids[b]))


def test_agreement_is_the_weighted_share_of_learned_wants() -> None:
    ada = person(WESTERN, WAR)
    assert ada.agreement({}) == 0.0
    assert ada.agreement({fact_id(WESTERN.fact): Tier.MEDIUM}) == 0.75
    assert ada.agreement({fact_id(WESTERN.fact): Tier.LOW, fact_id(WAR.fact): Tier.HIGH}) == 0.25
    assert ada.agreement({fact_id(w.fact): Tier.HIGH for w in (WESTERN, WAR)}) == 1.0
