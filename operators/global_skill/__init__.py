"""The global skill (paper 2.3, App. D): what a domain's users share, for somebody without a history."""

from operators.global_skill.statistics import (
    DEFAULT_LIMITS,
    GlobalLimits,
    Population,
    global_skill,
)

__all__ = ["DEFAULT_LIMITS", "GlobalLimits", "Population", "global_skill"]
