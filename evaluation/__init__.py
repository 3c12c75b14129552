"""The quality of skills on real data and on simulated users.

Every evaluation runs through one loop, `evaluation.simulation`. `sager eval` is the command line; docs/quality.md has
the results.
"""
