r"""Where a statement ends in what somebody types: at a `;` or `\G` outside of strings, names and comments."""

import re
from typing import NamedTuple

VERTICALLY = r"\G"
"""In the place of `;`: print one value a line, as MySQL's shell has it."""

_PART = re.compile(
    r"""
    (?P<quoted> '(?:[^']|'')*' | "(?:[^"]|"")*" | \$(?P<tag>[A-Za-z_]\w*)?\$.*?\$(?P=tag)?\$ )
    | (?P<remark> --[^\n]*(?:\n|\Z) | /\*.*?\*/ )
    | (?P<open> ' | " | /\* )
    | (?P<end> ; | \\G )
    | (?P<sign> . )
    """,
    re.VERBOSE | re.DOTALL,
)


class Statement(NamedTuple):
    r"""One statement without its end, and whether that was `\G`."""

    text: str
    vertical: bool = False


def is_whole(text: str) -> bool:
    r"""Whether what was typed can be carried out: a dot command, nothing, or statements that have ended.

    >>> [is_whole(typed) for typed in ("FROM skills", "FROM skills;", "SELECT ';", ".help", r"FROM skills\G")]
    [False, True, False, True, True]
    """
    if text.lstrip().startswith(".") or not text.strip():
        return True
    _, rest, is_open = _split(text)
    return not rest.strip() and not is_open


def split(text: str) -> list[Statement]:
    r"""The statements, in order; the last one needs no end.

    >>> split(r"SELECT ';' AS a; FROM b\G")
    [Statement(text="SELECT ';' AS a", vertical=False), Statement(text='FROM b', vertical=True)]
    """
    found, rest, _ = _split(text)
    found.append(Statement(rest.strip()))
    return [each for each in found if each.text]


def is_within(text: str) -> bool:
    """Whether the end of the text is inside of a string, a quoted name or a comment: nothing is completed there.

    >>> is_within("SELECT 'an"), is_within("SELECT 1 -- an"), is_within("SELECT 'an' ")
    (True, True, False)
    """
    last = None
    for last in _PART.finditer(text):
        if last["open"]:
            return True
    return bool(last and last["remark"] and last["remark"].startswith("--") and not text.endswith("\n"))


def _split(text: str) -> tuple[list[Statement], str, bool]:
    """The ended statements, what follows them without its comments, and whether that has an open string."""
    found: list[Statement] = []
    began, said = 0, ""
    for part in _PART.finditer(text):
        if part["open"]:
            return found, text[began:], True
        if part["end"]:
            found.append(Statement(text[began : part.start()].strip(), part["end"] == VERTICALLY))
            began, said = part.end(), ""
        elif not part["remark"]:
            said += part.group()
    return found, text[began:] if said.strip() else "", False
