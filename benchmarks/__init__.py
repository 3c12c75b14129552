"""Benchmarks of throughput, recovery, forgetting and analytics. Tests measure nothing."""
