"""Retrieve (paper 2.2, Algorithm 1 lines 4-5): a user's neighbours in the graph, and what they say about the user.

The reasoner with a model is in `operators.retrieve.llm`.
"""

from operators.retrieve.facets import Retrieved, retrieve
from operators.retrieve.prune import Neighbours, ScoredItem, ScoredUser, domain_prune
from operators.retrieve.quality import DEFAULT_LIMITS, Reason, RetrieveLimits, quality_filter

__all__ = [
    "DEFAULT_LIMITS",
    "Neighbours",
    "Reason",
    "RetrieveLimits",
    "Retrieved",
    "ScoredItem",
    "ScoredUser",
    "domain_prune",
    "quality_filter",
    "retrieve",
]
