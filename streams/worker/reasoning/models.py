"""Which parts of a ranking a model does, by the settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from operators.rank import LlmRanking, Task
from operators.slim import Slimmed
from schemas import PolicySkill, ReasonedBy


class Extracts(Protocol):
    """Chooses what a slim skill says (LLM_Ext, paper eq. 3)."""

    async def extract(
        self, skill: PolicySkill, instruction: str, budget: int, population: Mapping[str, float] | None
    ) -> tuple[Slimmed, ReasonedBy]:
        """The slim skill of this skill for this task."""
        ...


class Ranks(Protocol):
    """Orders candidates (LLM_Rec, paper eq. 4)."""

    async def rank(self, task: Task) -> LlmRanking:
        """The candidates in a strict order."""
        ...


@dataclass(frozen=True)
class Models:
    """The models of a ranking's stages; None where a rule does the part."""

    extract: Extracts | None = None
    rank: Ranks | None = None
