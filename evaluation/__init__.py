"""The paper's evaluation protocol on real data (3.1): the split, the arms that rank, and the results.

`sager eval` runs it; docs/quality.md has the results.
"""
