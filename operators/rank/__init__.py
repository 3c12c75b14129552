"""Rank (paper 2.4, C.3): a strict total order by request and skill."""

from operators.learning.choice_model import ListFeatures
from operators.rank.deterministic import Score, facet_weights, rank
from operators.rank.listwise import LlmRanking, RankTask

__all__ = ["ListFeatures", "LlmRanking", "RankTask", "Score", "facet_weights", "rank"]
