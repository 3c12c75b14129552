"""An arm: one way to rank, trained on a split and then asked case by case."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from evaluation.case import Case, Split


class Progress(Protocol):
    """Receives progress: how much of a stage is done."""

    def __call__(self, done: int, total: int, stage: str = "training") -> object:
        """Receives one update."""
        ...


@dataclass(frozen=True)
class Ranked:
    """An arm's answer to a case, and what it cost.

    Attributes:
        order: the candidates' ids, best first, each exactly once.
        calls, prompt_tokens, completion_tokens: of LLMs, for this case's ranking alone.
    """

    order: tuple[str, ...]
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of LLM calls.

    Attributes:
        calls: HTTP calls, including failed ones.
        prompt_tokens, completion_tokens: as counted by the endpoint.
        cached_calls: how many of the calls an earlier run made, whose replies were kept.
        unusable: questions with an unusable answer.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_calls: int = 0
    unusable: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_calls + other.cached_calls,
            self.unusable + other.unusable,
        )


class Arm(Protocol):
    """One way to rank. `train` is called once, then `rank` for each case, concurrently where arms wait."""

    @property
    def name(self) -> str:
        """Its name in `--arm` and reports."""
        ...

    async def train(self, split: Split, progress: Progress) -> None:
        """Trains on the training part of a split."""
        ...

    async def rank(self, case: Case) -> Ranked:
        """Ranks a case. Nothing learned here may change the answer to another case."""
        ...


@runtime_checkable
class Spends(Protocol):
    """An arm that accounts for its own cost, because training costs too; it replaces the sum over its rankings."""

    @property
    def spent(self) -> Cost:
        """Its total cost so far."""
        ...

    async def aclose(self) -> None:
        """Closes its connections; it is not used any more."""
        ...
