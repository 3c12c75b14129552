"""Reasoners, models, global skills and weights of a worker."""
