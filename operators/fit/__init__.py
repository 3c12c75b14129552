"""Fit: the probability that a person accepts each item, and clarifying questions."""
