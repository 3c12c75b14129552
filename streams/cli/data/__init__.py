"""Commands that bring data in, take it out, or ask it."""
