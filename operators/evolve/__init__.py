"""Evolve (paper 2.5, C.1): a reasoner proposes changes for a contrast; one function validates them."""
