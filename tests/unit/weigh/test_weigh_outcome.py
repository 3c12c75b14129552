"""What a choice says about weights: the slope of its likelihood, and nobody's name."""

import math

import pytest

from operators.weights import RankWeights, evidence_of, rank_weights
from schemas import Mix
from schemas.weights import FEATURE_ONE
from tests.unit.weigh.weigh_builders import NOON, Planted, no_weights, some_features, told


def slope_of(moved: tuple[int, int], weight: float) -> float:
    """A parabola's slope at a weight, as a real number."""
    pull, variance = moved
    return (pull - variance * weight) / FEATURE_ONE


LISTED = some_features({Mix.POPULARITY: [1.0, 0.0, -1.0]}, author=[0.0, 0.7, 0.0])


def test_the_slope_is_that_of_the_log_likelihood() -> None:
    """By finite differences, for every part and dimension."""
    features, chosen = Planted({Mix.COMPANIONS: 1.0, Mix.FACETS: 0.2}, seed=3, genre=1.0, mood=0.3).choice()

    def log_likelihood(weights: RankWeights) -> float:
        totals = [
            weights.companions * features.mix[Mix.COMPANIONS][n]
            + weights.facets * features.mix[Mix.FACETS][n]
            + weights.skill * sum(weights.of(name) * row[n] for name, row in features.dimensions.items())
            for n in range(10)
        ]
        totals = [total / FEATURE_ONE for total in totals]
        return totals[chosen] - math.log(sum(map(math.exp, totals)))

    at = RankWeights(skill=0.8, dimensions={"genre": 0.65, "mood": 0.15, "unknown": 0.5})
    mix, dimensions = evidence_of(features, chosen, at, 1)
    values = {each.value: getattr(at, each.value) for each in Mix}
    for part in mix:
        more = RankWeights(**(values | {part.value: values[part.value] + 1e-4}), dimensions=at.dimensions)
        slope = (log_likelihood(more) - log_likelihood(at)) / 1e-4
        assert slope_of(mix[part], values[part.value]) == pytest.approx(slope, abs=2e-3)
    for name in dimensions:
        more = RankWeights(skill=0.8, dimensions={**at.dimensions, name: at.of(name) + 1e-4})
        slope = (log_likelihood(more) - log_likelihood(at)) / 1e-4
        assert slope_of(dimensions[name], at.of(name)) == pytest.approx(slope, abs=2e-3)


@pytest.mark.parametrize(("nth", "part"), [(1, 1.0), (32, 1.0), (64, 0.5), (3_200, 0.01)])
def test_the_choices_of_one_person_count_less_and_less(nth: int, part: float) -> None:
    first, later = (told(LISTED, 0, weights=no_weights(), nth=each) for each in (1, nth))

    assert first is not None
    assert later is not None
    for one, other in zip(first.mix.values(), later.mix.values(), strict=True):
        assert other == pytest.approx([part * value for value in one], abs=1)


def test_an_outcome_tells_numbers_of_dimensions_and_the_hour() -> None:
    said = told(LISTED, 1, weights=no_weights())

    assert said is not None
    assert said.occurred_at == NOON.replace(minute=0, second=0, microsecond=0)
    fields = "event_id schema_version occurred_at domain weights_version mix dimensions"
    assert set(said.model_dump()) == set(fields.split())
    assert rank_weights(None).of("author") == 2.0
