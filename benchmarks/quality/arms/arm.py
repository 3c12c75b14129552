"""An arm: one way to rank, trained on a split and then asked case by case."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from benchmarks.quality.case import Case, Split

Progress = Callable[[int, int], None]
"""Is told how much of how much is done."""


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
