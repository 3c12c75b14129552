"""What the deterministic ranker does with collaborative context: steps, companions, and the skill between equals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.rank import facet_weights, rank
from operators.rank.deterministic import FACET_WEIGHT
from schemas import Attribute, Facet, ItemFacts, Tier
from tests.builders import an_attribute, id_of, item_facts

A, B, C = (item_facts(name, f"genre: {name}") for name in "abc")
LIKES_B = an_attribute("genre: b", Tier.HIGH)


def order(*attributes: Attribute, items: tuple[ItemFacts, ...] = (A, B, C), **more: object) -> str:
    return "".join(item.item_id for item, _ in rank(items, attributes, **more))  # type: ignore[arg-type]


def weights(**each: float) -> dict[str, float]:
    return {id_of(f"genre: {name}"): weight for name, weight in each.items()}


@pytest.mark.parametrize("seed", ["", "r1", "r2", "r3"])
def test_candidates_on_one_step_are_equally_relevant_and_the_skill_decides(seed: str) -> None:
    assert order(LIKES_B, facets=weights(a=1.0, b=0.95, c=0.2), seed=seed) == "bac"


def test_candidates_on_different_steps_are_not() -> None:
    assert order(LIKES_B, facets=weights(a=1.0, b=0.7, c=0.2)) == "abc"


def test_without_steps_the_smallest_difference_decides_before_the_skill() -> None:
    assert order(LIKES_B, facets=weights(a=1.0, b=0.999), levels=0) == "abc"


@pytest.mark.parametrize("seed", ["", "r1", "r2", "r3"])
def test_what_the_skill_leaves_open_the_exact_weights_decide_before_the_seed(seed: str) -> None:
    assert order(facets=weights(a=0.97, b=0.99, c=1.0), seed=seed) == "cba"


def test_steps_are_relative_to_the_strongest_of_the_list() -> None:
    assert order(LIKES_B, facets=weights(a=0.0010, b=0.0007, c=0.0002)) == "abc"
    assert order(LIKES_B, facets=weights(a=100.0, b=95.0, c=20.0)) == "bac"


def test_score_tells_the_step_in_the_unit_of_the_weights() -> None:
    scores = {item.item_id: score.facets for item, score in rank([A, B, C], facets=weights(a=2.0, b=1.9, c=0.7))}

    assert scores == pytest.approx({"a": 2.0, "b": 2.0, "c": 0.8})


@pytest.mark.parametrize("seed", ["", "r1", "r2"])
def test_companions_count_in_the_facets_tier(seed: str) -> None:
    assert order(LIKES_B, companions={"c": 1.0, "a": 0.5, "elsewhere": 1.0}, seed=seed) == "cab"
    assert order(facets=weights(a=0.6), companions={"c": 0.5, "a": 0.2}, seed=seed) == "acb"


def test_companions_come_after_the_instruction() -> None:
    assert order(instruction="b", companions={"c": 1.0}, items=(A, B, C)) == "bca"


def test_weights_too_small_to_divide_still_count() -> None:
    assert order(facets=weights(a=5e-324, b=1e-323)) == "bac"


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.integers(0, 9), st.text(max_size=3), st.floats(0, 1))
def test_a_lower_step_never_stands_above_a_higher_one(
    each: list[float], levels: int, seed: str, companion: float
) -> None:
    items = [item_facts(f"i{n}", f"genre: g{n}", "genre: liked") for n in range(len(each))]
    facets = {id_of(f"genre: g{n}"): weight for n, weight in enumerate(each)}
    lines = [an_attribute("genre: liked", Tier.HIGH), an_attribute("genre: g1")]

    ranked = rank(items, lines, "", facets, seed, companions={"i0": companion}, levels=levels)

    keys = [(score.facets, score.skill) for _, score in ranked]
    assert keys == sorted(keys, reverse=True)
    if levels:
        assert len({score.facets for _, score in ranked}) <= levels + 1


def test_a_facet_counts_less_than_a_companion() -> None:
    facets = [
        Facet(facet="drawn to noir", confidence=1.0, attribute_id="preference:genre:noir"),
        Facet(facet="in no words of ours", confidence=1.0),
    ]

    assert facet_weights(facets) == {"preference:genre:noir": FACET_WEIGHT}
    assert FACET_WEIGHT < 0.5
