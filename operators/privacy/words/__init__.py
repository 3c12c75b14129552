"""Lists of words and patterns, a file each: what people who speak a language can read, correct and add to."""

from collections.abc import Iterator
from importlib.resources import files


def patterns(name: str) -> Iterator[str]:
    """The lines of a list that are no comments."""
    lines = files(__name__).joinpath(f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return (line for line in lines if not line.startswith("#"))


def code_points(spans: str) -> Iterator[int]:
    """The code points of ranges in hexadecimal.

    >>> [hex(point) for point in code_points("ad 200b-200d")]
    ['0xad', '0x200b', '0x200c', '0x200d']
    """
    for span in spans.split():
        low, _, high = span.partition("-")
        yield from range(int(low, 16), int(high or low, 16) + 1)
