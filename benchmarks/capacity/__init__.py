"""What a deployment of a given size needs, computed from measured constants: `python -m benchmarks.capacity`."""
