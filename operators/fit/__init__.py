"""Fit: the probability that a person accepts each item, and clarifying questions."""

from operators.fit.acceptance import beliefs_after_choice, update_beliefs
from operators.fit.model import fit_list

__all__ = ["beliefs_after_choice", "fit_list", "update_beliefs"]
