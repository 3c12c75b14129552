"""Merge (paper 2.5): the counting of evidence, caps and eviction, and the fold of the log.

`resolve_*` turn an event into a diff by the rule and its limits; `resolve` is the paper's own tier rule, kept to
compare. `merge` applies a diff and knows no limit, so that the log alone gives every skill back, also after the limits
were changed (invariant 1).
"""

from operators.merge.commands import resolve_command
from operators.merge.counting import resolve_counts, resolve_visit
from operators.merge.folding import OutOfOrder, fold, holds, merge, next_diff, start
from operators.merge.incremental import resolve
from operators.merge.room import DEFAULT_LIMITS, MergeLimits, fit_seed
from operators.merge.saying import resolve_abstention, resolve_correction, resolve_feedback, resolve_unheard

__all__ = [
    "DEFAULT_LIMITS",
    "MergeLimits",
    "OutOfOrder",
    "fit_seed",
    "fold",
    "holds",
    "merge",
    "next_diff",
    "resolve",
    "resolve_abstention",
    "resolve_command",
    "resolve_correction",
    "resolve_counts",
    "resolve_feedback",
    "resolve_unheard",
    "resolve_visit",
    "start",
]
