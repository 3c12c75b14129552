"""Fit: how probable it is that a person accepts a list's items, and the one question that would tell most. Pure."""

from operators.fit.acceptance import learned
from operators.fit.model import fit_of

__all__ = ["fit_of", "learned"]
