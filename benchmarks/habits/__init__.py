"""Whether habits are found, where they are and where they are not: `python -m benchmarks.habits`."""
