"""What arms are made with."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ArmOptions:
    """What the command line says of arms; each takes what concerns it.

    Attributes:
        seed: of whatever an arm draws.
        tau: how many reasons weaken a line of a skill (paper 3.4).
        slim_tokens: the budget of a slim skill.
    """

    seed: int = 0
    tau: int = 2
    slim_tokens: int = 30
