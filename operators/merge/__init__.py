"""Merge (paper 2.5): the whole tier rule, protection, caps and eviction, and the fold of the log.

`resolve` turns an honest proposal into a diff of effective changes: this is where the rule and its limits
speak. `merge` applies a diff to a skill and knows no limit, so that the log alone gives every skill back, also
after the limits were changed (invariant 1).
"""

from operators.merge.commands import resolve_command
from operators.merge.diffs import next_diff
from operators.merge.folding import OutOfOrder, fold, holds, merge, start
from operators.merge.incremental import resolve
from operators.merge.limits import DEFAULT_LIMITS, MergeLimits
from operators.merge.replacing import resolve_replacement
from operators.merge.room import fit_seed

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
    "resolve_command",
    "resolve_replacement",
    "start",
]
