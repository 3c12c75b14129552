"""Lists of words and patterns, a file each: what people who speak a language can read, correct and add to."""

from collections.abc import Iterator
from importlib.resources import files


def patterns(name: str) -> Iterator[str]:
    """The lines of a list that are no comments."""
    lines = files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return (line for line in lines if not line.startswith("#"))
