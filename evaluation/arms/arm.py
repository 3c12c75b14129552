"""An arm: one way to rank, trained on a split and then asked case by case."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from evaluation.case import Case, Split


class Progress(Protocol):
    """Is told of a stage how much of how much is done."""

    def __call__(self, done: int, total: int, stage: str = "training") -> object:
        """Take note."""
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
    """What LLMs were asked and answered.

    Attributes:
        calls: HTTP calls, those that failed included.
        prompt_tokens, completion_tokens: as the endpoint counted them.
        cached_calls: how many of the calls were made by an earlier run, whose replies were kept.
        unusable: questions that got an answer of which nothing can be made.
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
    """One way to rank. `train` is called once, then `rank` for each case, several at a time where arms wait."""

    @property
    def name(self) -> str:
        """The word that `--arm` and reports know it by."""
        ...

    async def train(self, split: Split, progress: Progress) -> None:
        """Take in the training part of a split."""
        ...

    async def rank(self, case: Case) -> Ranked:
        """Rank a case. Nothing that is learned here may change the answer to any other case."""
        ...


@runtime_checkable
class Spends(Protocol):
    """An arm that keeps its own account, because training costs too; it stands for what its rankings say."""

    @property
    def spent(self) -> Cost:
        """All that it has cost so far."""
        ...

    async def aclose(self) -> None:
        """Close its connections; it is asked nothing more."""
        ...
