"""The pages of people: what their skills say, why, and what they change."""

from streams.console.people import card_history, cards, changing, history, leaving, lines
from streams.console.people.pages import PEOPLE

__all__ = ["PEOPLE", "card_history", "cards", "changing", "history", "leaving", "lines"]
