"""A catalogue of well-known works and places, and simulated people who choose from it."""
