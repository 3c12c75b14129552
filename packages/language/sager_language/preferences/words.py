"""The sentences in which people tell what they like, a file each language."""

from sager_language.lists import language_sections


def sections(language: str) -> dict[str, tuple[str, ...]]:
    """Return the lines of a language's file by section."""
    return language_sections("preferences", language)
