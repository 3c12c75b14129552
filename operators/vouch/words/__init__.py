"""Words that an order needs, and words that labels are made of: what people can read, correct and add to."""

from collections.abc import Iterator
from importlib.resources import files


def lines(name: str) -> Iterator[tuple[str, str, list[str]]]:
    """Language, class and words of each line of a list that is no comment."""
    for line in files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            language, kind, *words = line.split()
            yield language, kind, words


def phrases(name: str) -> Iterator[str]:
    """Each line of a list that is no comment, as a whole."""
    for line in files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line


def words(name: str) -> Iterator[str]:
    """Each word of a list."""
    for line in phrases(name):
        yield from line.split()
