"""A question on its way to the endpoint, and what it has cost so far."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True)
class Question(Generic[_T]):
    """What one question sends, and how it reads the response's body."""

    prompt: str
    name: str
    prompt_hash: str
    wanted: Mapping[str, Any]
    read: Callable[[object], _T]
    correction: str


@dataclass
class Spent:
    """What the calls of one question add up to."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    began: float = field(default_factory=time.monotonic)


def milliseconds_since(began: float) -> int:
    """Milliseconds since a moment of the monotonic clock."""
    return round(1000 * (time.monotonic() - began))
