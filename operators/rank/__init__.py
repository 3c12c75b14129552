"""Rank (paper 2.4, C.3): a strict total order by request and skill."""
