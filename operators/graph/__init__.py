"""Retrieve (paper 2.2, Algorithm 1 lines 4-5): neighbours and shared facets."""
