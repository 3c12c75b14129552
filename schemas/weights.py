"""The weights of a domain's rankings, without users, items or words.

Everything is in fixed point, so that folding the same log gives the same bytes: features, slopes, variances and
precisions in 1/1024 (`FEATURE_ONE`), weights in 1/1048576 (`WEIGHT_ONE`): a step may be far smaller than 1/1024.
"""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from .base import Digest, DomainField, Event, Label, Model, Position, is_empty
from .items import MAX_MEASURE, Amount, NumberName

FEATURE_ONE = 1 << 10
WEIGHT_ONE = 1 << 20
MAX_OUTCOME_DIMENSIONS = 20
MAX_WEIGHED_DIMENSIONS = 64
# Candidates of a ranking.
MAX_WEIGHED = 100
# Larger features are clipped: no list of candidates has one.
MAX_FEATURE = 32
# The largest weight.
_MAX_WEIGHT = 16
_MAX_PULL = (2 * MAX_FEATURE + _MAX_WEIGHT * MAX_FEATURE * MAX_FEATURE) * FEATURE_ONE


class Mix(StrEnum):
    """The parts that a ranking adds up."""

    SKILL = "skill"
    COMPANIONS = "companions"
    POPULARITY = "popularity"
    FACETS = "facets"
    TASTES = "tastes"


# Other names of dimensions in item data count as `unknown`.
DimensionName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]
# What a part, or a dimension's lines, contribute to one candidate, in 1/1024.
Feature = Annotated[int, Field(ge=-MAX_FEATURE * FEATURE_ONE, le=MAX_FEATURE * FEATURE_ONE)]
# One feature of all candidates.
Row = Annotated[tuple[Feature, ...], Field(min_length=2, max_length=MAX_WEIGHED)]
Variance = Annotated[int, Field(ge=0, le=MAX_FEATURE * MAX_FEATURE * FEATURE_ONE)]
Pull = Annotated[int, Field(ge=-_MAX_PULL, le=_MAX_PULL)]
# A choice's evidence for a weight, in 1/1024: its log-likelihood is `pull * weight - variance * weight**2 / 2`.
# Its slope is `pull - variance * weight`, also if the weight has changed since the choice was made.
WeightEvidence = tuple[Pull, Variance]
Weight = Annotated[int, Field(ge=-_MAX_WEIGHT * WEIGHT_ONE, le=_MAX_WEIGHT * WEIGHT_ONE)]
Precision = Annotated[int, Field(ge=1, le=1 << 40)]
MAX_OUTCOME_NUMBERS, MAX_WEIGHED_NUMBERS = 8, 24
MAX_OUTCOME_FACTS, MAX_WEIGHED_FACTS = 32, 512
# A fact under the deployment's secret: a rare fact may be one person's.
FactDigest = Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]
# How often a fact was taken, and how often by blind choice, in 1/1024.
FactCounts = tuple[Annotated[int, Field(ge=0, le=1 << 40)], Annotated[int, Field(ge=0, le=1 << 40)]]
_Variance = Annotated[int, Field(ge=0, le=1 << 60)]
# A list's variance and mean of a number, in 1/1024; the mean has two digits.
NumberMoments = tuple[_Variance, _Variance]
# Their sums over lists, and the number of these lists.
MomentSums = tuple[_Variance, _Variance, Annotated[int, Field(ge=1)]]
# The mean of each number over a domain's lists, and that of its variance within a list.
UsualNumbers = dict[NumberName, tuple[Amount, Annotated[float, Field(ge=0, le=MAX_MEASURE**2)]]]


# The weight of a number in a prediction, in 1/1024, and the unit of its distances from the list's mean.
NumberPrediction = tuple[
    Annotated[int, Field(ge=-(1 << 30), le=1 << 30)], Annotated[float, Field(gt=0, le=MAX_MEASURE)]
]


class Features(Model):
    """A ranking's evidence and prediction, in its order, with which the choice is compared.

    `mix` has the community's evidence before weights; rows with equal entries are left out. `chances` are predicted by
    skill and domain, without the community, in 1/1024; `numbers` is how the prediction weighs them.
    """

    mix: dict[Mix, Row] = Field(default_factory=dict, max_length=len(Mix))
    chances: tuple[Annotated[int, Field(ge=0, le=FEATURE_ONE)], ...] = Field((), max_length=MAX_WEIGHED)
    numbers: dict[NumberName, NumberPrediction] = Field(
        default_factory=dict, max_length=MAX_OUTCOME_NUMBERS, exclude_if=is_empty
    )

    @model_validator(mode="after")
    def _check_row_lengths(self) -> Self:
        if len({len(self.chances), *map(len, self.mix.values())}) > 1:
            raise PydanticCustomError("uneven_rows", "all rows must have one entry per candidate")
        return self


class RankingOutcome(Event, topic="outcomes"):
    """One choice's evidence for a domain's weights, without user and items.

    `event_id` cannot be computed without the deployment's secret; `occurred_at` is rounded to the hour.
    """

    domain: DomainField
    weights_version: int = Field(ge=0, description="The weights behind pull and variance.")
    mix: dict[Mix, WeightEvidence] = Field(default_factory=dict, max_length=len(Mix))
    dimensions: dict[DimensionName, WeightEvidence] = Field(default_factory=dict, max_length=MAX_OUTCOME_DIMENSIONS)
    numbers: dict[NumberName, WeightEvidence] = Field(default_factory=dict, max_length=MAX_OUTCOME_NUMBERS)
    moments: dict[NumberName, NumberMoments] = Field(default_factory=dict, max_length=MAX_OUTCOME_NUMBERS)
    tastes: dict[FactDigest, FactCounts] = Field(default_factory=dict, max_length=MAX_OUTCOME_FACTS)


class WeightAction(StrEnum):
    """The action of a weight command."""

    FREEZE = "freeze"
    UNFREEZE = "unfreeze"
    RESET = "reset"


class WeightCommand(Event, topic="weight-commands"):
    """An operator's change of a domain's weights."""

    domain: DomainField
    action: WeightAction
    actor: Label
    reason: Annotated[str, Field(max_length=300)] = ""


class LearnedWeight(Model):
    """One weight in 1/1048576, and its estimate's precision in 1/1024."""

    weight: Weight
    precision: Precision


class Weights(Event, topic="weights"):
    """The weights of a domain; missing ones count as their start value."""

    domain: DomainField
    version: int = Field(ge=0, description="How many outcomes and commands it includes; 0: the start values.")
    choices: int = Field(0, ge=0, description="Learned choices since the start or reset.")
    frozen: bool = False
    mix: dict[Mix, LearnedWeight] = Field(default_factory=dict, max_length=len(Mix))
    dimensions: dict[DimensionName, LearnedWeight] = Field(default_factory=dict, max_length=MAX_WEIGHED_DIMENSIONS)
    numbers: dict[NumberName, LearnedWeight] = Field(default_factory=dict, max_length=MAX_WEIGHED_NUMBERS)
    moments: dict[NumberName, MomentSums] = Field(default_factory=dict, max_length=MAX_WEIGHED_NUMBERS)
    tastes: dict[FactDigest, FactCounts] = Field(default_factory=dict, max_length=MAX_WEIGHED_FACTS)
    applied: tuple[Position, ...] = Field((), max_length=4)
    seal: Digest | None = Field(None, description="The worker's proof, with the deployment's secret.")
