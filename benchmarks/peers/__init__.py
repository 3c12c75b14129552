"""The worker beside its peers, on the same choices: `python -m benchmarks.peers --json`."""
