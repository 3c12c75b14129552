"""Fit: how probable it is that a person accepts what is ranked, and the one question that would tell more. Pure."""

from operators.fit.acceptance import learned
from operators.fit.question import question_of
from operators.fit.suiting import fit_of

__all__ = ["fit_of", "learned", "question_of"]
