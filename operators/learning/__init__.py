"""Merge (paper 2.5): counts of evidence, limits and eviction, and the fold.

`resolve_*` turn an event into a diff by the rule of a mode and its limits: `evidence`, or `paper`.
`merge` applies a diff and knows no limit, so that the log alone gives every skill back, also after the limits
were changed (invariant 1).
"""
