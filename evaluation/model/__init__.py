"""The paper's tables with a real model: the same choices, with skills that a model, counts, or both evolve.

`sager eval model` plays a data set against the configured endpoint and keeps every reply; `figures` makes tables of it.
"""
