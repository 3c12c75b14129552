"""Lists of words and patterns: text files that speakers can edit.

A section begins with `== name`. Lines that begin with `#` are comments.
"""

from functools import cache
from importlib.resources import files

HEADER = "== "


@cache
def sections(folder: str) -> dict[str, tuple[str, ...]]:
    """Return the lines of each section of all lists in a folder."""
    found: dict[str, tuple[str, ...]] = {}
    for file in sorted((files("sager_language") / folder / "lists").iterdir(), key=lambda file: file.name):
        found |= _sections_of(file.read_text(encoding="utf-8"))
    return found


@cache
def language_sections(folder: str, language: str) -> dict[str, tuple[str, ...]]:
    """Return the lines of each section of one language's file."""
    return _sections_of((files("sager_language") / folder / "lists" / f"{language}.txt").read_text(encoding="utf-8"))


def _sections_of(text: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for raw in text.splitlines():
        line = raw.rstrip()
        if line.startswith(HEADER):
            lines = found.setdefault(line.removeprefix(HEADER), [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return {name: tuple(lines) for name, lines in found.items()}
