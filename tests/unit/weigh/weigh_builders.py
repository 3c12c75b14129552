"""Builders for outcomes and what leads to them."""

import math
import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from operators.weights import apply_outcome, initial_weights, outcome_of, rank_weights
from schemas import Contrast, Fact, Features, ItemFacts, Mix, RankingOutcome, WeightAction, WeightCommand, Weights
from schemas.weights import FEATURE_ONE

NOON = datetime(2026, 1, 1, 12, 34, 56, 789, tzinfo=UTC)
DOMAIN = "films"


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


def some_features(mix: Mapping[Mix, Sequence[float]], **dimensions: Sequence[float]) -> Features:
    fixed = lambda row: tuple(round(value * FEATURE_ONE) for value in row)  # noqa: E731
    return Features(
        mix={part: fixed(row) for part, row in mix.items()},
        dimensions={name: fixed(row) for name, row in dimensions.items()},
    )


class Planted:
    """People who choose by known weights.

    Args:
        mix: what the parts count for them.
        dimensions: what a line of a dimension counts for them.
        seed: of the lists and of the choices.
    """

    def __init__(self, mix: Mapping[Mix, float], seed: int = 1, **dimensions: float) -> None:
        self._mix, self._dimensions, self._rng = mix, dimensions, random.Random(seed)

    def choice(self, candidates: int = 10) -> tuple[Features, int]:
        """A list, and the place of what was taken from it."""
        draw = self._rng.gauss
        mix = {part: [draw(0, 1) for _ in range(candidates)] for part in self._mix}
        within = {name: [max(0.0, draw(0, 1)) for _ in range(candidates)] for name in self._dimensions}
        totals = [
            math.fsum(
                [weight * mix[part][n] for part, weight in self._mix.items()]
                + [weight * within[name][n] for name, weight in self._dimensions.items()]
            )
            for n in range(candidates)
        ]
        chances = [math.exp(total) for total in totals]
        return some_features(mix, **within), self._rng.choices(range(candidates), chances)[0]

    def teach(self, choices: int) -> Weights:
        weights = no_weights()
        for number in range(choices):
            said = told(*self.choice(), weights=weights, event_id=f"o{number}")
            assert said is not None
            weights = apply_outcome(weights, said)
        return weights


def told(
    features: Features, chosen: int, *, weights: Weights, nth: int = 1, event_id: str = "o1"
) -> RankingOutcome | None:
    facts = tuple(Fact(dimension=name, value="any") for name in features.dimensions)
    item, *others = [ItemFacts(item_id=str(number), facts=facts) for number in range(features.candidates)]
    contrast = Contrast(
        event_id=event_id,
        occurred_at=NOON,
        user_id="ann",
        domain=DOMAIN,
        ranking_id="r",
        chosen=item,
        chosen_rank=chosen + 1,
        unchosen=tuple(others),
        features=features,
    )
    return outcome_of(contrast, rank_weights(weights), nth, b"", weights.version)
