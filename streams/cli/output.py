"""How commands write: tables for people, JSON for programs, and never a control character out of the data."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDTH_OF_A_PIPE = 160


def console(*, stderr: bool = False) -> "Console":
    """A rich console; wide where nobody's window limits it."""
    from rich.console import Console  # noqa: PLC0415

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, width=None if stream.isatty() else WIDTH_OF_A_PIPE)


def table(*columns: str, title: str | None = None, caption: str | None = None) -> "Table":
    """An empty table in the one style that we use."""
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    made = Table(
        box=SIMPLE_HEAD,
        title=None if title is None else Text(title, style="bold"),
        caption=None if caption is None else Text(caption, style="dim"),
        title_justify="left",
        caption_justify="left",
        pad_edge=False,
    )
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def row(made: "Table", cells: Iterable[object], style: str | None = None) -> None:
    """Add a row; what the cells say is text, never markup."""
    from rich.text import Text  # noqa: PLC0415

    made.add_row(*(Text(printable(str(cell))) for cell in cells), style=style)


def printable(text: str) -> str:
    r"""The text without anything that a terminal would obey; line breaks stay.

    >>> printable("a\x1b[2Jb")
    'a\ufffd[2Jb'
    """
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def print_json(value: Any) -> None:
    """JSON on stdout: indented for a terminal or a file alike."""
    import orjson  # noqa: PLC0415

    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")


def note(text: str) -> None:
    """A remark on stderr, which is not part of the answer."""
    print(printable(text), file=sys.stderr)
