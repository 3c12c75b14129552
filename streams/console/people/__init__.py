"""The pages of people: what their skills say, why, and what they change."""

from streams.console.people import cards, changing, history, leaving, lines
from streams.console.people.pages import PEOPLE

__all__ = ["PEOPLE", "cards", "changing", "history", "leaving", "lines"]
