"""The operator's list of values that may be let out, whatever they look like."""

from typing import Final

from operators.attributes import normalise
from operators.prompts import visible

MAX_CHARS: Final = 4_000_000
MAX_LINES: Final = 100_000
MAX_LINE_CHARS: Final = 200


class BadList(ValueError):
    """The operator's list cannot be used."""


def listed(text: str) -> frozenset[str]:
    r"""The values of a list, one a line: `value`, or `dimension: value` for one dimension alone; `#` begins a comment.

    Raises:
        BadList: it is too long, or a line has no word, is too long or has signs that nobody sees.

    >>> sorted(listed("Must See\ntag: do-it-yourself\n# a comment\n"))
    ['must-see', 'tag: do-it-yourself']
    """
    if len(text) > MAX_CHARS:
        raise BadList(f"it has more than {MAX_CHARS:,} characters")
    found: set[str] = set()
    # Not splitlines(): a line break that an editor does not show must not end a comment.
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.removesuffix("\r").strip(" \t")
        if not line or line.startswith("#"):
            continue
        if number > MAX_LINES:
            raise BadList(f"it has more than {MAX_LINES:,} lines")
        if len(line) > MAX_LINE_CHARS or visible(line) != line:
            raise BadList(f"line {number} is longer than {MAX_LINE_CHARS} characters, or holds one that nobody sees")
        dimension, colon, value = line.partition(": ")
        name = normalise(value if colon else line)
        if not name:
            raise BadList(f"line {number} has no word")
        found.add(f"{normalise(dimension)}: {name}" if colon else name)
    return frozenset(found)
