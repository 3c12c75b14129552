"""The word lists of the output policy."""

from collections.abc import Iterator

from sager_language.lists import sections


def lines(name: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield language, class and words of each line of a section."""
    for line in phrases(name):
        language, kind, *words = line.split()
        yield language, kind, words


def phrases(name: str) -> tuple[str, ...]:
    """Return the lines of a section."""
    return sections("output")[name]


def words(name: str) -> Iterator[str]:
    """Yield each word of a section."""
    for line in phrases(name):
        yield from line.split()
