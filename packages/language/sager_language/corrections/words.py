"""The sentences that corrections are made of, a file each language."""

from typing import Final

from sager_language.lists import language_sections

# Those that have a file; where words could be of either, the first.
LANGUAGES: Final = ("en", "de")


def sections(language: str) -> dict[str, tuple[str, ...]]:
    """Return the lines of a language's file by section."""
    return language_sections("corrections", language)
