"""The Faust worker: one app, four agents, three tables."""
