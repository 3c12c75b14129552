"""What the deterministic ranker does with collaborative context: standard scores that add up with the skill's."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.weights import RankWeights
from schemas import Attribute, Tier
from tests.builders import an_attribute, id_of, item_facts, rank_items

A, B, C = (item_facts(name, f"genre: {name}") for name in "abc")
LIKES_B = an_attribute("genre: b", Tier.HIGH)


def order(*attributes: Attribute, **more: object) -> str:
    return "".join(item.item_id for item, _ in rank_items((A, B, C), attributes, **more))


def weights(**each: float) -> dict[str, float]:
    return {id_of(f"genre: {name}"): weight for name, weight in each.items()}


EVEN = RankWeights(companions=1.0, popularity=1.0, facets=1.0, skill=1.0)


def test_community_features_are_in_standard_deviations() -> None:
    ranked = rank_items([A, B, C], [LIKES_B], companions={"a": 0.02, "b": 0.01}, weights=EVEN)

    scores = {item.item_id: score for item, score in ranked}
    # 2, 1, 0 in any unit: mean 1, deviation sqrt(2/3).
    assert scores["a"].facets == pytest.approx(math.sqrt(1.5))
    assert scores["c"].facets == pytest.approx(-math.sqrt(1.5))


def test_skill_score_depends_on_evidence_and_dimension_only() -> None:
    line = an_attribute("genre: b", Tier.HIGH, support=3).model_copy(update={"taken": 3 * 1_024, "expected": 1_024})
    weights = RankWeights(skill=2.0, dimensions={"genre": 0.25})

    for items in ([A, B], [A, B, C], [B, B]):
        scores = {item.item_id: score.skill for item, score in rank_items(items, [line], weights=weights)}

        assert scores["b"] == pytest.approx(2.0 * 0.25 * math.log(4 / 2))
        assert {score for name, score in scores.items() if name != "b"} <= {0.0}


@pytest.mark.parametrize("seed", ["", "r1", "r2", "r3"])
def test_skill_outweighs_a_small_community_lead(seed: str) -> None:
    assert order(LIKES_B, companions={"a": 1.0, "b": 0.9, "c": 0.2}, seed=seed) == "bac"
    assert order(companions={"a": 1.0, "b": 0.9, "c": 0.2}, seed=seed) == "abc"


def test_a_request_comes_before_community_and_skill() -> None:
    western = item_facts("w", "genre: western")

    ranked = rank_items([A, western, B], [LIKES_B], "a western", companions={"a": 1.0})

    assert ranked[0][0] is western


@pytest.mark.parametrize("part", ["companions", "popularity", "facets", "skill"])
def test_feature_with_zero_weight_has_no_effect(part: str) -> None:
    silent = RankWeights(**({"companions": 1.0, "popularity": 1.0, "facets": 1.0, "skill": 1.0} | {part: 0.0}))
    said = {"companions": {"a": 1.0}, "popularity": {"a": 9}, "facets": weights(a=1.0)}

    ranked = rank_items(
        [A, B],
        [an_attribute("genre: a")] if part == "skill" else [],
        weights=silent,
        **{name: value for name, value in said.items() if name == part},
    )

    assert {score.facets + score.skill for _, score in ranked} == {0.0}


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=12),
    st.lists(st.integers(0, 10_000), min_size=12, max_size=12),
    st.text(max_size=3),
)
def test_order_follows_the_scores(each: list[float], taken: list[int], seed: str) -> None:
    items = [item_facts(f"i{n}", f"genre: g{n}", "genre: liked") for n in range(len(each))]
    lines = [an_attribute("genre: liked", Tier.HIGH), an_attribute("genre: g1")]

    ranked = rank_items(
        items,
        lines,
        "",
        {id_of(f"genre: g{n}"): weight for n, weight in enumerate(each)},
        seed,
        companions={f"i{n}": weight for n, weight in enumerate(reversed(each))},
        popularity={f"i{n}": count for n, count in enumerate(taken)},
    )

    sums = [score.facets + score.skill for _, score in ranked]
    assert sums == sorted(sums, reverse=True)
    assert all(map(math.isfinite, sums))
    assert math.fsum(score.facets for _, score in ranked) == pytest.approx(0, abs=1e-6)
    assert min(score.skill for _, score in ranked) >= 0
