"""What a file of results gives back: runs, and how an arm learns."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """A run, without its single users.

    Attributes:
        finished_at: in UTC.
        version: of this distribution.
        fingerprint: of the training visits; runs with another one are not comparable.
        measures: the mean of each of `measures.MEASURES`.
        ci95_hit_at_1: bootstrap interval of Hit@1 over users.
        llm_calls, prompt_tokens, completion_tokens: of ranking all cases.
        seconds: of training and ranking.
        settings: what the command line said of arms.
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
    """How well users rank who have seen so many contrasts.

    Attributes:
        contrasts_seen: by each of these users, before the ranking that counts.
        users: how many.
        hit_at_1, hit_at_1_low, hit_at_1_high: their mean, and its 95 % interval.
    """

    contrasts_seen: int
    users: int
    hit_at_1: float
    hit_at_1_low: float
    hit_at_1_high: float


@dataclass(frozen=True, slots=True)
class Curve:
    """How an arm learns: its points by rising `contrasts_seen`."""

    data: str
    candidates: str
    seed: int
    arm: str
    points: tuple[CurvePoint, ...]
