"""Fit: the probability that a person accepts each item of a list, and the most informative question."""

from operators.fit.acceptance import update_beliefs
from operators.fit.model import fit_list

__all__ = ["fit_list", "update_beliefs"]
