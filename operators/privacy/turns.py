"""Turns of a conversation: their lines stay lines, and what is asked in one turn may be answered in the next."""

import re
from collections.abc import Callable
from typing import Final

from operators.privacy.digits import Span
from operators.privacy.glance import digits_in
from operators.privacy.reading import line

_MOST_LINES: Final = 200
"""Of a turn in which something is private; who pastes more of them says nothing of themselves in the rest."""
_TAIL: Final = 160
_HEAD: Final = 200
_FEWEST_DIGITS: Final = 2
_FEW_WORDS: Final = 8
"""Words of an answer that may be nothing but a name or a street."""

Places = Callable[[str], list[tuple[int, int, str]]]


def by_lines(text: str, redacted: Callable[[str], tuple[str, dict[str, int]]]) -> tuple[str, dict[str, int]] | None:
    """A text of several lines redacted line by line, so that quoted and pasted lines can still be told.

    None: what is private runs over several lines, and only the text as a whole can be redacted.
    """
    found: dict[str, int] = {}
    lines = []
    for each in text.splitlines()[:_MOST_LINES]:
        kept, kinds = redacted(each)
        lines.append(kept)
        for kind, times in kinds.items():
            found[kind] = found.get(kind, 0) + times
    told = "\n".join(lines)
    return (told, found) if not redacted(told)[1] else None


def may_answer(before: str, text: str) -> bool:
    """Whether what is private in a turn may only show by what was said before it."""
    if not before.strip():
        return False
    head = text[:_HEAD]
    return digits_in(head) >= _FEWEST_DIGITS or len(head.split()) <= _FEW_WORDS


def answers(before: str, text: str, places: Places) -> list[tuple[Span, str]]:
    """Places in `line(text)` of what is private behind the end of what was said before.

    >>> answers("Your passport number?", "It is C01X00T47", lambda said: [(len(said) - 9, len(said), "id-number")])
    [((6, 15), 'id-number')]
    """
    tail = line(before)[-_TAIL:]
    # Half a word says nothing.
    tail = re.sub(r"^\S+\s", "", tail) if len(tail) == _TAIL else tail
    said = f"{tail} {line(text)[:_HEAD]}"
    begins = len(tail) + 1
    return [((max(start, begins) - begins, end - begins), kind) for start, end, kind in places(said) if end > begins]
