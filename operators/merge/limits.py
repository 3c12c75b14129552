"""The numbers of the merge that the paper leaves open."""

from dataclasses import dataclass
from datetime import timedelta

from operators.stated import SESSION


@dataclass(frozen=True)
class MergeLimits:
    """What the paper leaves open, decided and documented in docs/decisions/0003-merge.md.

    Attributes:
        protect_contradictions: how many contradictions, from as many events, demote a high line of the prior.
        weaken_window: a line is demoted at most once in this many of the user's own contrasts.
        discoveries: most new lines per event.
        attributes: most lines in a skill.
        characters: the size of a skill as rendered.
        seed_characters: the part of it that a seed may fill.
        pinned: most pinned lines.
        global_patience: a line of the global skill is left behind when this many of the user's own contrasts have
            not confirmed it.
        verdict_weight: what a model's verdict on a line adds to its counts, as a part of a choice.
        session: how long after its last event a session is over.
    """

    protect_contradictions: int = 2
    weaken_window: int = 5
    discoveries: int = 3
    attributes: int = 40
    characters: int = 1_500
    seed_characters: int = 1_200
    pinned: int = 4
    global_patience: int = 5
    verdict_weight: float = 0.25
    session: timedelta = SESSION


DEFAULT_LIMITS = MergeLimits()
