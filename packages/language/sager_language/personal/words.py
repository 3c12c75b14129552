"""The word lists of the redactor."""

from sager_language.lists import sections


def patterns(name: str) -> tuple[str, ...]:
    """Return the lines of a section."""
    return sections("personal")[name]
