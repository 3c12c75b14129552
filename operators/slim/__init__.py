"""Slim (paper 2.3, C.2): a few likes and one style phrase, within a token budget.

`rules` needs no LLM and is what runs at every merge; `relevance` conditions it on the task at hand; `llm` is the
paper's LLM_Ext, for when a model is to choose.
"""

from operators.slim.relevance import relevant_to
from operators.slim.rules import (
    JOINT,
    MAX_LIKE_CHARS,
    MAX_LIKES,
    Sayable,
    Slimmed,
    compose,
    composed,
    eligible,
    lines_of,
    max_likes,
    phrase,
    phrases,
    plain,
    sayable,
    select,
    slim,
    slimmed,
)

__all__ = [
    "JOINT",
    "MAX_LIKES",
    "MAX_LIKE_CHARS",
    "Sayable",
    "Slimmed",
    "compose",
    "composed",
    "eligible",
    "lines_of",
    "max_likes",
    "phrase",
    "phrases",
    "plain",
    "relevant_to",
    "sayable",
    "select",
    "slim",
    "slimmed",
]
