"""Slim skills (paper 2.3, C.2): likes and style within a token budget."""

from operators.language.words import relevant_to
from operators.slim.rules import SlimResult, compose, extract_slim, select, slim
from operators.slim.statements import quotable

__all__ = ["SlimResult", "compose", "extract_slim", "quotable", "relevant_to", "select", "slim"]
