"""The pages of people: what their skills say, why, and what they change."""

from streams.console.people import changing, history, leaving, lines
from streams.console.people.pages import PEOPLE

__all__ = ["PEOPLE", "changing", "history", "leaving", "lines"]
