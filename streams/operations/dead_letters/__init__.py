"""Dead letters: list them, and replay their originals."""
