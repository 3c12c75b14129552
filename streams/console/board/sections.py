"""The operator's and the analyst's sections, with all their pages, in the order of the navigation."""

from streams.console.board import pages_letters, pages_operate, pages_query
from streams.console.board.pages_analyse import ANALYSE
from streams.console.board.pages_live import OPERATE

BOARD = (OPERATE, ANALYSE)
PAGES = (pages_letters, pages_operate, pages_query)
"""Modules that add theirs when they are imported."""
