"""Rank (paper 2.4, C.3): a strict total order by instruction, facets and skill."""

from operators.options import RankSkill
from operators.rank.deterministic import Score, facet_weights, rank
from operators.rank.ranking import LlmRanking, RankTask

__all__ = ["LlmRanking", "RankSkill", "RankTask", "Score", "facet_weights", "rank"]
