"""The agents: they read state, call one pure step, and apply its effects."""
