"""The Faust worker: its app, its agents, and what they share."""
