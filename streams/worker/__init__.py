"""The Faust worker: its app, its agents, and their shared state."""
