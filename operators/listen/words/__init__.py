"""What people say of themselves in conversations, a file each language, written as those of `operators.understand`."""

from functools import cache
from importlib.resources import files

from operators.understand.words import sections_of


@cache
def sections(language: str) -> dict[str, tuple[str, ...]]:
    """The lines of a language's file by the section that they stand in, without comments."""
    return sections_of(files(__name__).joinpath(f"{language}.txt").read_text(encoding="utf-8"))
