"""Evolve (paper 2.5, C.1): proposals for a contrast, and their validation."""
