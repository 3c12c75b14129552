"""How well skills rank and learn, on real data and on simulated users: the paper's protocol (3.1) and more.

Every evaluation runs through one loop, `evaluation.simulation`. `sager eval` is the command line; docs/quality.md has
the results.
"""
