"""The paper's protocol on real data (3.1): who is tested on what, the arms that rank, and what comes of it.

`sager eval` runs it; docs/quality.md has the results.
"""
