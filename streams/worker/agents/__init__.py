"""Agents, which read state, call one pure step, and apply its effects."""
