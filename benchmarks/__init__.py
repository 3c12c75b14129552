"""Benchmarks: cost per choice, throughput, latency, recovery, faults. Tests measure nothing.

`baseline.json` has the figures before the code base was cut to its present size, each with its command. A change that
keeps the behaviour reproduces them: `hit_at_1` and `success` within .01, equal bytes, `total_in_references` within 5 %.
"""
