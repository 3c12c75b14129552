"""Conversations: turns wait in chunks, and a model reads what rules do not."""
