"""Rank (paper 2.4, C.3): a strict total order by instruction, facets and skill.

`deterministic` weighs them without an LLM; `first_token` and `listwise` ask one, and `llm` picks among
them. What a model is asked is in `question`, what comes of its answers in `ranking`.
"""

from operators.options import RankSkill
from operators.rank.deterministic import Score, facet_weights, rank
from operators.rank.ranking import LlmRanking, Repaired, Task, repair

__all__ = ["LlmRanking", "RankSkill", "Repaired", "Score", "Task", "facet_weights", "rank", "repair"]
