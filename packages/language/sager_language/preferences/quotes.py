"""Quotations in any script's marks, which may be another person's words."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from sager_language.text import Lazy

# A turn with more of them is all quotation.
MAX_MARKS: Final = 2_000
MAX_TITLE_CHARS: Final = 50
# A shorter quotation names something, such as a title, and stays where it stands.
MAX_TITLE_WORDS: Final = 6
_CLOSERS: Final = {
    "\u201c": "\u201d\u201c",  # also the German closing mark
    "\u201d": "\u201d",
    "\u201e": "\u201c\u201d\u201f",
    "\u201f": "\u201d",
    "\u00ab": "\u00bb",
    "\u00bb": "\u00ab\u00bb",
    "\u2039": "\u203a",
    "\u203a": "\u2039\u203a",
    "\u300c": "\u300d",
    "\u300e": "\u300f",
    "\u300a": "\u300b",
    "\u3008": "\u3009",
    "\u301d": "\u301e\u301f",
    "\ufe41": "\ufe42",
    "\ufe43": "\ufe44",
    "\uff62": "\uff63",
    "\u2018": "\u2019\u2018",
    "\u201a": "\u2018\u2019",
    "\u275d": "\u275e",
    "\u275b": "\u275c",
    "`": "`\u00b4'",
}
_STRAIGHT: Final = {'"': '"', "\uff02": "\uff02", "'": "'", "''": "''"}
_MARKS: Final = Lazy("''|[" + "".join({*_CLOSERS, *"".join(_CLOSERS.values()), '"', "\uff02", "'"}) + "]")
# Those that represent something else too, or may close: one without a partner quotes nothing.
_SINGLE: Final = frozenset("'\u2018\u201a\u2019`\u00b4\u203a\u00bb\u201d")
_SPEAKS: Final = Lazy(
    r"[.!?\u2026\u3002][\"'\u201d\u201c\u2019]?\s+\S|\b(?:i|i['\u2019]?m|my|me|we|our|ich|mir|mich|meine?[nmrs]?|wir)\b",
    re.IGNORECASE,
)


def quotations(text: str) -> list[tuple[int, int]]:
    """Return the ranges of outermost quotations; unclosed ones reach the end.

    >>> quotations('He said "no", and \u201eja\u201c.')
    [(8, 12), (18, 22)]
    """
    marks = list(islice(_MARKS.finditer(text), MAX_MARKS + 1))
    if len(marks) > MAX_MARKS:
        return [(0, len(text))]
    last = {mark[0]: mark.start() for mark in marks if _closes(text, mark)}
    return list(_between(text, marks, last))


def is_title(quoted: str) -> bool:
    """Return True if a quotation is only a short name."""
    inner = quoted[1:-1]
    is_short = len(inner) <= MAX_TITLE_CHARS and len(inner.split()) <= MAX_TITLE_WORDS
    return is_short and "\n" not in inner and _SPEAKS.search(inner) is None


def _between(text: str, marks: list[re.Match[str]], last: dict[str, int]) -> Iterator[tuple[int, int]]:
    opened: re.Match[str] | None = None
    depth = 0
    for mark in marks:
        if opened is None:
            if _opens(text, mark) and (_is_closed(mark, last) or mark[0] not in _SINGLE):
                opened, depth = mark, 1
            continue
        if mark[0] in _closers(opened[0]) and _closes(text, mark):
            depth -= 1
        elif mark[0] == opened[0] and _opens(text, mark):
            depth += 1
        if depth == 0:
            yield opened.start(), mark.end()
            opened = None
    if opened is not None:
        if opened[0] in _SINGLE and depth > 1:
            # More were opened than closed: up to where the last may close.
            yield opened.start(), max(last[mark] for mark in _closers(opened[0]) if mark in last) + 1
        else:
            yield opened.start(), len(text)


def _closers(mark: str) -> str:
    return _STRAIGHT.get(mark) or _CLOSERS.get(mark, "")


def _is_closed(mark: re.Match[str], last: dict[str, int]) -> bool:
    return any(last.get(closer, -1) > mark.start() for closer in _closers(mark[0]))


def _opens(text: str, mark: re.Match[str]) -> bool:
    if not _closers(mark[0]):
        return False
    before = text[mark.start() - 1] if mark.start() else " "
    behind = text[mark.end()] if mark.end() < len(text) else " "
    if mark[0] in _STRAIGHT or mark[0] in _SINGLE:
        # An apostrophe, a mark for inches, or one that closes.
        return not before.isalnum() and not (behind.isspace() and not before.isspace())
    return True


def _closes(text: str, mark: re.Match[str]) -> bool:
    before = text[mark.start() - 1] if mark.start() else " "
    behind = text[mark.end()] if mark.end() < len(text) else " "
    if mark[0] in _STRAIGHT:
        return not behind.isalnum() and not (before.isspace() and not behind.isspace())
    return mark[0] not in "\u2019'`\u00b4" or not (before.isalnum() and behind.isalnum())
