"""The rows of a results file: runs and learning curves."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """A run, without its individual users.

    Attributes:
        finished_at: in UTC.
        version: the version of sager-streams.
        fingerprint: a hash of the training visits; runs with different ones are not comparable.
        measures: the mean of each of `measures.MEASURES`.
        ci95_hit_at_1: bootstrap interval of Hit@1 over users.
        llm_calls, prompt_tokens, completion_tokens: the cost of ranking all cases.
        seconds: the time of training and ranking.
        settings: the options of the arm.
    """

    run_id: str
    finished_at: datetime
    version: str
    data: str
    fingerprint: str
    candidates: str
    seed: int
    arm: str
    users: int
    measures: Mapping[str, float]
    ci95_hit_at_1: tuple[float, float]
    llm_calls: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The hit rate after a number of contrasts.

    Attributes:
        contrasts_seen: contrasts of each user before the ranking.
        users: the number of users.
        hit_at_1, hit_at_1_low, hit_at_1_high: the mean and its 95 % interval.
    """

    contrasts_seen: int
    users: int
    hit_at_1: float
    hit_at_1_low: float
    hit_at_1_high: float


@dataclass(frozen=True, slots=True)
class Curve:
    """The learning curve of an arm: its points by rising `contrasts_seen`."""

    data: str
    candidates: str
    seed: int
    arm: str
    points: tuple[CurvePoint, ...]
