"""The options of arms."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluation.replies import Replies


@dataclass(frozen=True, slots=True)
class ArmOptions:
    """The command line's options for arms; each arm uses those that concern it.

    Attributes:
        seed: the seed of an arm's random draws.
        tau: how many rounds of warm-up a skill evolves before it is frozen (paper 3.1).
        slim_tokens: the budget of a slim skill.
        concurrency: how many users warm up at once if an arm waits for an endpoint.
        replies: the store of LLM replies and the budget of new ones; None: no store, no budget.
    """

    seed: int = 0
    tau: int = 2
    slim_tokens: int = 30
    concurrency: int = 16
    replies: "Replies | None" = None

    def told(self) -> dict[str, Any]:
        """The options that change results, as recorded with them."""
        return {"seed": self.seed, "tau": self.tau, "slim_tokens": self.slim_tokens, "concurrency": self.concurrency}
