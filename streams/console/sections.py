"""All pages of the console, in the order of the navigation."""

from streams.console.board.sections import BOARD
from streams.console.pages import Section
from streams.console.people import PEOPLE

SECTIONS: tuple[Section, ...] = (PEOPLE, *BOARD)
