"""Words that an order needs, by language and class: what people who speak a language can read, correct and add to."""

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
