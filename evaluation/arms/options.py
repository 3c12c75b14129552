"""What arms are made with."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluation.replies import Replies


@dataclass(frozen=True, slots=True)
class ArmOptions:
    """What the command line says of arms; each takes what concerns it.

    Attributes:
        seed: of whatever an arm draws.
        tau: how many rounds of warm-up a skill evolves in before it is frozen (paper 3.1).
        slim_tokens: the budget of a slim skill.
        concurrency: how many users warm up at once where an arm waits for an endpoint.
        replies: an LLM's replies, kept, and the budget of new ones; None: nothing is kept, nothing is bounded.
    """

    seed: int = 0
    tau: int = 2
    slim_tokens: int = 30
    concurrency: int = 16
    replies: "Replies | None" = None

    def told(self) -> dict[str, Any]:
        """What changes results, for the file of them."""
        return {"seed": self.seed, "tau": self.tau, "slim_tokens": self.slim_tokens, "concurrency": self.concurrency}
