"""Slim (paper 2.3, C.2): a few likes and one style phrase, within a token budget, by rules or by a model (LLM_Ext)."""

from operators.language.words import relevant_to
from operators.slim.rules import Slimmed, compose, lines_of, select, slim, slimmed
from operators.slim.statements import plain

__all__ = ["Slimmed", "compose", "lines_of", "plain", "relevant_to", "select", "slim", "slimmed"]
