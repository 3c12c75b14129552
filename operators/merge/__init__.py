"""Merge (paper 2.5): the counting of evidence, caps and eviction, and the fold of the log.

`resolve_counts` turns a choice into a diff of effective changes: here the rule and its limits speak. `resolve`,
the paper's own tier rule, is kept to compare. `merge` applies a diff to a skill and knows no limit, so that the log
alone gives every skill back, also after the limits were changed (invariant 1).
"""

from operators.merge.commands import resolve_command
from operators.merge.counting import resolve_counts, resolve_visit
from operators.merge.diffs import next_diff
from operators.merge.folding import OutOfOrder, fold, holds, merge, start
from operators.merge.hearing import resolve_feedback
from operators.merge.incremental import resolve
from operators.merge.room import DEFAULT_LIMITS, MergeLimits, fit_seed
from operators.merge.saying import resolve_abstention, resolve_correction, resolve_unheard

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
