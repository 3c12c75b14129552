"""Merge (paper 2.5): counts of evidence, limits and eviction, and the fold.

`resolve_*` turn an event into a diff by the rule and its limits; `resolve_tiers` is the paper's own tier rule, kept to
compare. `merge` applies a diff and knows no limit, so that the log alone gives every skill back, also after the limits
were changed (invariant 1).
"""
