"""Slim skills (paper 2.3, C.2): likes and style within a token budget."""
