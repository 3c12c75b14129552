"""Builders for outcomes, and people who choose by known weights."""

import math
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from operators.learning.choice_model import ListFeatures
from operators.learning.outcomes import FULL_CHOICES, weight_evidence
from operators.weights import apply_outcome, initial_weights, rank_weights
from schemas import Mix, RankingOutcome, WeightAction, WeightCommand, Weights

NOON = datetime(2026, 1, 1, 12, 34, 56, 789, tzinfo=UTC)
DOMAIN = "films"


class PlantedList(NamedTuple):
    """A list with its features, and the place of the taken item."""

    features: ListFeatures
    community: Mapping[Mix, Sequence[float]]
    chosen: int = 0


def an_outcome(
    mix: Mapping[Mix, tuple[int, int]] | None = None, event_id: str = "o1", **dimensions: tuple[int, int]
) -> RankingOutcome:
    """An outcome with these gradients and variances, in 1/1024."""
    return RankingOutcome(
        event_id=event_id, occurred_at=NOON, domain=DOMAIN, weights_version=0, mix=mix or {}, dimensions=dimensions
    )


def a_command(action: WeightAction, event_id: str = "c1") -> WeightCommand:
    return WeightCommand(event_id=event_id, occurred_at=NOON, domain=DOMAIN, action=action, actor="ops")


def no_weights() -> Weights:
    return initial_weights(DOMAIN, an_outcome())


class Planted:
    """People who choose by known weights.

    Args:
        mix: what the parts count for them.
        seed: of the lists and of the choices.
        numbers: what a number counts for them.
        dimensions: what a line of a dimension counts for them.
    """

    def __init__(
        self, mix: Mapping[Mix, float], seed: int = 1, numbers: Mapping[str, float] | None = None, **dimensions: float
    ) -> None:
        self._mix, self._numbers, self._dimensions = mix, numbers or {}, dimensions
        self._rng = random.Random(seed)

    def choice(self, size: int = 10) -> PlantedList:
        draw = self._rng.gauss
        community = {part: [draw(0, 1) for _ in range(size)] for part in self._mix}
        numbers = {name: [draw(0, 1) for _ in range(size)] for name in self._numbers}
        within = {name: [max(0.0, draw(0, 1)) for _ in range(size)] for name in self._dimensions}
        weighed = [
            *((self._mix[part], row) for part, row in community.items()),
            *((self._numbers[name], row) for name, row in numbers.items()),
            *((self._dimensions[name], row) for name, row in within.items()),
        ]
        chances = [math.exp(math.fsum(weight * row[n] for weight, row in weighed)) for n in range(size)]
        features = ListFeatures(size, dimensions=within, numbers=numbers, personal=dict.fromkeys(numbers, 0.0))
        return PlantedList(features, community, self._rng.choices(range(size), chances)[0])

    def teach(self, choices: int) -> Weights:
        weights = no_weights()
        for number in range(choices):
            weights = apply_outcome(weights, learned(self.choice(), weights, event_id=f"o{number}"))
        return weights


def learned(planted: PlantedList, weights: Weights, nth: int = 1, event_id: str = "o1") -> RankingOutcome:
    """The outcome of a person's nth choice."""
    evidence = weight_evidence(*planted, rank_weights(weights), min(1.0, FULL_CHOICES / nth))
    return an_outcome(event_id=event_id).model_copy(update=evidence._asdict())
