"""Fit: the probability that a person accepts each item, and clarifying questions."""

from operators.fit.acceptance import update_beliefs
from operators.fit.model import fit_list

__all__ = ["fit_list", "update_beliefs"]
