"""Lists of words and patterns: text files in sections, which people who speak a language can read and correct.

A section begins with `== name`. Lines that begin with `#` are comments.
"""

from functools import cache
from importlib.resources import files


@cache
def sections(folder: str) -> dict[str, tuple[str, ...]]:
    """Return the lines of each section of all lists in a folder of this package."""
    found: dict[str, list[str]] = {}
    for file in sorted(files(__package__).joinpath(folder, "lists").iterdir(), key=lambda file: file.name):
        lines: list[str] = []
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.startswith("== "):
                lines = found.setdefault(line.removeprefix("== "), [])
            elif line and not line.startswith("#"):
                lines.append(line)
    return {name: tuple(lines) for name, lines in found.items()}
