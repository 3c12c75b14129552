"""What sentences mean, a file each language: what people who speak it can read, correct and add to."""

import re
from functools import cache
from importlib.resources import files
from typing import Final

LANGUAGES: Final = ("en", "de")
"""Those that have a file; where words could be of either, the first."""

_HEADER: Final = re.compile(r"\[([a-z-]+)\]")


@cache
def sections(language: str) -> dict[str, tuple[str, ...]]:
    """The lines of a language's file by the section that they stand in, without comments."""
    return sections_of(files(__name__).joinpath(f"{language}.txt").read_text(encoding="utf-8"))


def sections_of(text: str) -> dict[str, tuple[str, ...]]:
    """The lines of such a file by the section that they stand in, without comments."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for raw in text.splitlines():
        line = raw.strip()
        if header := _HEADER.fullmatch(line):
            lines = found.setdefault(header[1], [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return {name: tuple(lines) for name, lines in found.items()}
