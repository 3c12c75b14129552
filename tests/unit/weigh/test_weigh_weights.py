"""Weights learned from outcomes: towards what people decide by, in bounded steps, never out of bounds."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.learning.choice_model import ListFeatures
from operators.learning.outcomes import outcome_of, weight_evidence
from operators.numbers import DeclaredNumber, start_weights
from operators.weights import (
    DIMENSIONS,
    UNKNOWN_DIMENSION,
    RankWeights,
    apply_command,
    apply_outcome,
    fact_digest,
    rank_weights,
)
from schemas import Mix, RankingOutcome, Tier, WeightAction, Weights, decode, encode
from schemas.weights import FEATURE_ONE, MAX_FEATURE, MAX_WEIGHED_DIMENSIONS, WEIGHT_ONE
from tests.builders import a_contrast, a_position, a_skill, an_attribute
from tests.unit.weigh.weigh_builders import Planted, PlantedList, a_command, an_outcome, learned, no_weights

MOST_PULL = (2 * MAX_FEATURE + 16 * MAX_FEATURE * MAX_FEATURE) * FEATURE_ONE
MOVED = st.tuples(st.integers(-MOST_PULL, MOST_PULL), st.integers(0, MAX_FEATURE * MAX_FEATURE * FEATURE_ONE))
NAMES = st.one_of(st.sampled_from(sorted(DIMENSIONS)), st.from_regex(r"\A[a-z]{1,3}\Z"))
OUTCOMES = st.builds(
    lambda mix, dimensions: an_outcome(mix).model_copy(update={"dimensions": dimensions}),
    st.dictionaries(st.sampled_from(list(Mix)), MOVED, max_size=4),
    st.dictionaries(NAMES, MOVED, max_size=20),
)


def fold(outcomes: list[RankingOutcome], weights: Weights | None = None) -> Weights:
    weights = no_weights() if weights is None else weights
    for each in outcomes:
        weights = apply_outcome(weights, each)
    return weights


@pytest.mark.parametrize("popularity", [0.9, -0.6])
def test_the_sign_of_popularity_is_learned(popularity: float) -> None:
    people = Planted({Mix.COMPANIONS: 0.7, Mix.POPULARITY: popularity})

    after = rank_weights(people.teach(2_000))

    assert after.popularity == pytest.approx(popularity, abs=0.1)
    assert after.companions == pytest.approx(0.7, abs=0.1)


def test_one_adversarial_person_hardly_moves_a_domain() -> None:
    """The worst attack with true rankings: of each list the person takes the item that their skill ranks last."""
    domain = Planted({Mix.COMPANIONS: 0.7, Mix.POPULARITY: 0.3}, genre=1.3, author=2.0).teach(1_000)
    before, weights = rank_weights(domain), domain
    lists = Planted({Mix.COMPANIONS: 1.0, Mix.POPULARITY: 1.0}, seed=7, genre=1.0, author=1.0)

    for nth in range(1, 81):
        planted = lists.choice()
        speaks_for = [sum(row) for row in zip(*planted.features.dimensions.values(), strict=True)]
        worst = planted._replace(chosen=speaks_for.index(min(speaks_for)))
        weights = apply_outcome(weights, learned(worst, weights, nth))

    after = rank_weights(weights)
    assert after.skill > 0.8 * before.skill
    assert after.companions > 0.8 * before.companions
    assert after.popularity > 0.8 * before.popularity
    assert after.of("genre") > 0.8 * before.of("genre")


@given(st.lists(OUTCOMES, max_size=60))
@settings(max_examples=60, deadline=None)
def test_weights_stay_in_their_bounds(outcomes: list[RankingOutcome]) -> None:
    after = fold(outcomes * 3)
    used = rank_weights(after)

    assert 0.0 <= used.skill <= 3.0
    assert 0.0 <= used.companions <= 3.0
    assert -1.5 <= used.popularity <= 1.5
    assert -1.0 <= used.facets <= 1.0
    for name, value in used.dimensions.items():
        begin = DIMENSIONS.get(name, UNKNOWN_DIMENSION)
        assert begin / 4 - 1e-5 <= value <= begin * 4 + 1e-5
    assert len(after.dimensions) <= MAX_WEIGHED_DIMENSIONS
    assert len(encode(after)) < 8_000


@given(st.lists(OUTCOMES, max_size=30))
@settings(max_examples=40, deadline=None)
def test_the_same_log_gives_the_same_weights(outcomes: list[RankingOutcome]) -> None:
    weights = no_weights()
    for each in outcomes:
        weights = apply_outcome(decode(Weights, encode(weights)), decode(RankingOutcome, encode(each)))

    assert encode(weights) == encode(fold(outcomes))


def test_one_active_person_cannot_swing_a_domain() -> None:
    """A hundred thousand choices of one person count as the sum of 32 / k: about 32 + 32 ln(n / 32)."""
    many, one = Planted({Mix.COMPANIONS: 0.7, Mix.POPULARITY: 0.6}), Planted({Mix.POPULARITY: -1.4}, seed=2)
    before = weights = many.teach(3_000)

    for number in range(1, 3_001):
        weights = apply_outcome(weights, learned(one.choice(), weights, number))

    assert rank_weights(before).popularity == pytest.approx(0.6, abs=0.1)
    assert rank_weights(weights).popularity > 0.45


def test_a_forged_slope_stops_pushing() -> None:
    people = Planted({Mix.COMPANIONS: 0.7, Mix.POPULARITY: 0.6})
    weights = before = people.teach(3_000)
    forged = an_outcome({Mix.POPULARITY: (-64 * FEATURE_ONE, 0)})

    once = apply_outcome(weights, forged)
    for _ in range(50):
        weights = apply_outcome(weights, forged)

    assert rank_weights(before).popularity - rank_weights(once).popularity <= 0.05
    assert rank_weights(weights).popularity > rank_weights(before).popularity - 0.4


def test_an_outcome_is_applied_once() -> None:
    position, said = a_position(7, "outcomes"), an_outcome({Mix.SKILL: (500, 900)})
    once = apply_outcome(no_weights(), said, position)

    assert apply_outcome(once, said, position) is once
    assert apply_outcome(once, said, a_position(6, "outcomes")) is once
    assert apply_outcome(once, said, a_position(8, "outcomes")).version == 2


def test_frozen_weights_do_not_learn() -> None:
    said = an_outcome({Mix.SKILL: (500, 900)})
    frozen = apply_command(no_weights(), a_command(WeightAction.FREEZE), a_position(1, "weight-commands"))

    assert frozen.frozen
    passed = apply_outcome(frozen, said, a_position(1, "outcomes"))
    assert (passed.version, passed.choices, rank_weights(passed)) == (1, 0, RankWeights())

    thawed = apply_command(passed, a_command(WeightAction.UNFREEZE), a_position(2, "weight-commands"))
    assert apply_outcome(thawed, said, a_position(1, "outcomes")) is thawed
    assert apply_outcome(thawed, said, a_position(2, "outcomes")).choices == 1


def test_a_reset_keeps_version_fence_and_freeze() -> None:
    taught = apply_outcome(no_weights(), an_outcome({Mix.SKILL: (500, 900)}, genre=(9, 9)), a_position(4, "outcomes"))
    frozen = apply_command(taught, a_command(WeightAction.FREEZE), a_position(1, "weight-commands"))

    reset = apply_command(frozen, a_command(WeightAction.RESET), a_position(2, "weight-commands"))

    assert rank_weights(reset) == RankWeights()
    assert (reset.version, reset.choices, reset.frozen) == (3, 0, True)
    assert [position.topic for position in reset.applied] == ["outcomes", "weight-commands"]
    assert apply_command(reset, a_command(WeightAction.UNFREEZE), a_position(2, "weight-commands")) is reset


def test_weights_out_of_bounds_are_used_within_them() -> None:
    taught = fold([an_outcome({Mix.SKILL: (5, 5)})])
    mix = {Mix.SKILL: taught.mix[Mix.SKILL].model_copy(update={"weight": -9 * WEIGHT_ONE})}

    assert rank_weights(taught.model_copy(update={"mix": mix})).skill == 0.0


def slope_of(moved: tuple[int, int], weight: float) -> float:
    """A parabola's slope at a weight, as a real number."""
    pull, variance = moved
    return (pull - variance * weight) / FEATURE_ONE


LISTED = PlantedList(ListFeatures(3, {"author": [0.0, 0.7, 0.0]}), {Mix.POPULARITY: [1.0, 0.0, -1.0]})


def test_the_slope_equals_the_log_likelihoods() -> None:
    """By finite differences, for every part, dimension and number."""
    people = Planted({Mix.COMPANIONS: 1.0, Mix.FACETS: 0.2}, seed=3, numbers={"price": -0.6}, genre=1.0, mood=0.3)
    features, community, chosen = people.choice()

    def log_likelihood(weights: RankWeights) -> float:
        totals = [
            weights.companions * community[Mix.COMPANIONS][n]
            + weights.facets * community[Mix.FACETS][n]
            + weights.numbers["price"] * features.numbers["price"][n]
            + weights.skill * sum(weights.of(name) * row[n] for name, row in features.dimensions.items())
            for n in range(10)
        ]
        return totals[chosen] - math.log(sum(map(math.exp, totals)))

    at = RankWeights(skill=0.8, dimensions={"genre": 0.65, "mood": 0.15, "unknown": 0.5}, numbers={"price": -0.2})
    found = weight_evidence(features, community, chosen, at)
    assert set(found.mix) == {Mix.SKILL, Mix.COMPANIONS, Mix.FACETS}
    for part in found.mix:
        more = replace(at, **{part.value: getattr(at, part.value) + 1e-4})
        slope = (log_likelihood(more) - log_likelihood(at)) / 1e-4
        assert slope_of(found.mix[part], getattr(at, part.value)) == pytest.approx(slope, abs=2e-3)
    for name in found.dimensions:
        more = replace(at, dimensions={**at.dimensions, name: at.of(name) + 1e-4})
        slope = (log_likelihood(more) - log_likelihood(at)) / 1e-4
        assert slope_of(found.dimensions[name], at.of(name)) == pytest.approx(slope, abs=2e-3)
    more = replace(at, numbers={"price": -0.2 + 1e-4})
    slope = (log_likelihood(more) - log_likelihood(at)) / 1e-4
    assert slope_of(found.numbers["price"], -0.2) == pytest.approx(slope, abs=2e-3)


def test_a_domains_trade_off_is_learned() -> None:
    people = Planted({}, numbers={"price": -0.8, "minutes": -0.3})

    after = rank_weights(people.teach(2_000))

    assert after.numbers == pytest.approx({"price": -0.8, "minutes": -0.3}, abs=0.1)


@pytest.mark.parametrize(("nth", "part"), [(1, 1.0), (32, 1.0), (64, 0.5), (3_200, 0.01)])
def test_later_choices_of_one_person_count_less(nth: int, part: float) -> None:
    first, later = (learned(LISTED, no_weights(), each) for each in (1, nth))

    for one, other in zip(first.mix.values(), later.mix.values(), strict=True):
        assert other == pytest.approx([part * value for value in one], abs=1)


def test_an_outcome_has_no_personal_data() -> None:
    skill = a_skill(an_attribute("author: Mina", Tier.HIGH))
    contrast = a_contrast(["author: Mina", "genre: noir"], [["genre: saga"], ["genre: epic"]])

    outcome = outcome_of(contrast, skill, RankWeights(secret=b"secret"), 1, 0)

    assert outcome is not None
    assert outcome.occurred_at == contrast.occurred_at.replace(minute=0, second=0, microsecond=0)
    written = encode(outcome).decode()
    assert not any(word in written for word in ("ann", "mina", "Mina", "noir", "saga", contrast.event_id))
    assert outcome.tastes[fact_digest("preference:genre:noir", b"secret")] == (FEATURE_ONE, round(FEATURE_ONE / 3))


def test_only_our_own_rankings_teach_the_weights_of_the_skill() -> None:
    skill = a_skill(an_attribute("author: Mina", Tier.HIGH))

    outcome = outcome_of(a_contrast(["author: Mina"], [["genre: saga"]]), skill, RankWeights(), 1, 0)

    assert outcome is not None
    assert (outcome.mix, outcome.dimensions) == ({}, {})
    assert len(outcome.tastes) == 2


def test_a_domains_tastes_follow_from_what_is_taken_more_often_than_shown() -> None:
    weights = no_weights()
    for number in range(30):
        contrast = a_contrast(["supplier: local"], [["supplier: far"]] * 3, event_id=f"c{number}")
        outcome = outcome_of(contrast, a_skill(), rank_weights(weights), number + 1, weights.version)
        assert outcome is not None
        weights = apply_outcome(weights, outcome)

    tastes = rank_weights(weights).tastes_of(f"preference:supplier:{name}" for name in ("local", "far", "unknown"))
    assert tastes["preference:supplier:local"] > 0.5
    assert tastes["preference:supplier:far"] < -0.5
    assert "preference:supplier:unknown" not in tastes


def test_a_domain_starts_in_a_declared_direction_and_leaves_it() -> None:
    starts = start_weights({"price": DeclaredNumber(direction="less")})
    dearer = an_outcome({}).model_copy(update={"numbers": {"price": (2 * FEATURE_ONE, FEATURE_ONE)}})

    weights = apply_outcome(no_weights(), dearer, starts=starts)

    assert rank_weights(None, starts=starts).numbers == {"price": -0.25}
    assert -0.25 < rank_weights(weights, starts=starts).numbers["price"] < 0
    assert rank_weights(fold([dearer] * 40, weights), starts=starts).numbers["price"] > 0
