"""Fit: how probable it is that a person accepts a list's items, and the one question that would tell most. Pure."""

from operators.fit.acceptance import update_beliefs
from operators.fit.model import fit_list

__all__ = ["fit_list", "update_beliefs"]
