"""A catalogue of well-known works, and simulated people who choose from it."""
