"""A person's card: its fold, merge, fading and selection."""
