"""Slim skills (paper 2.3, C.2): likes and style within a token budget."""

from operators.language.words import relevant_to
from operators.slim.rules import compose, slim
from operators.slim.selection import select
from operators.slim.statements import quotable

__all__ = ["compose", "quotable", "relevant_to", "select", "slim"]
