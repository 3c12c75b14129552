"""Output of commands: tables, JSON, and progress on stderr."""

import json
import math
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID
    from rich.table import Table

WIDTH_OF_A_PIPE, LINE_SECONDS = 160, 3.0
_BEYOND_ASCII = re.compile(r"[^ -~\n]")


def console(*, stderr: bool = False) -> "Console":
    """Return a rich console, wide without a terminal; `COLUMNS` overrides this."""
    from rich.console import Console  # noqa: PLC0415

    class Quiet(Console):
        def on_broken_pipe(self) -> None:  # rich would exit with code 1
            raise BrokenPipeError

    stream = sys.stderr if stderr else sys.stdout
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() else None if stream.isatty() else WIDTH_OF_A_PIPE
    return Quiet(stderr=stderr, highlight=False, width=width)


def table(*columns: str, title: str | None = None, whole: Iterable[str] = ()) -> "Table":
    """Return an empty table; columns in `whole`, such as ids, never wrap."""
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    heading = None if title is None else Text(printable(title), style="bold")
    made = Table(box=SIMPLE_HEAD, title=heading, title_justify="left", pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold", no_wrap=column in whole)
    return made


def row(made: "Table", cells: Iterable[object], style: str | None = None) -> None:
    """Add a row of plain text, which rich must not parse."""
    from rich.text import Text  # noqa: PLC0415

    made.add_row(*(Text(printable(str(cell))) for cell in cells), style=style)


def print_rows(rows: Sequence[Mapping[str, Any]], title: str | None = None, whole: Iterable[str] = ()) -> None:
    """Print rows with the same keys as a table."""
    if rows:
        made = table(*(name.replace("_", " ") for name in rows[0]), title=title, whole=whole)
        for each in rows:
            row(made, [format_value(value) for value in each.values()])
        console().print(made)


def print_fields(fields: Mapping[str, Any]) -> None:
    """Print one line per field."""
    for name, value in fields.items():
        print(printable(f"{name.replace('_', ' ')}: {format_value(value)}"))


def format_value(value: Any) -> str:  # noqa: PLR0911 - one per kind of value
    """Format a value for people.

    >>> format_value(0.25), format_value(1200), format_value(None), format_value({"a": 1, "b": True})
    ('0.250', '1,200', '-', 'a 1, b yes')
    """
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.3f}"
        case int() if not isinstance(value, Enum):
            return f"{value:,}"
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
        case Mapping():
            return ", ".join(f"{key} {format_value(each)}" for key, each in value.items())
        case list() | tuple():
            return ", ".join(map(format_value, value))
        case _:
            return str(value)


def printable(text: str) -> str:
    r"""Replace control characters, except line breaks.

    >>> printable("a\x1b[2Jb")
    'a\ufffd[2Jb'
    """
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def json_text(value: Any, indent: int | None = None) -> str:
    r"""Return the value as JSON, in the encoding of every `--json`.

    Times are ISO 8601 in UTC and end in `Z`; a time without a zone is UTC. NaN and infinity, which JSON lacks, are
    null. Text is UTF-8, and characters that a terminal would obey or hide are escaped.

    >>> json_text({"at": datetime(2026, 1, 31, 18), "title": "Amélie", "share": float("nan"), "raw": "\x9b2J"})
    '{"at": "2026-01-31T18:00:00Z", "title": "Amélie", "share": null, "raw": "\\u009b2J"}'
    """
    return _BEYOND_ASCII.sub(_escaped, json.dumps(json_value(value), ensure_ascii=False, indent=indent))


def print_json(value: Any) -> None:
    """Print one JSON document, indented."""
    sys.stdout.write(json_text(value, 2) + "\n")


def print_json_line(value: Any) -> None:
    """Print one JSON document on a line, and flush it."""
    sys.stdout.write(json_text(value) + "\n")
    sys.stdout.flush()


def print_json_rows(rows: Iterable[Any]) -> None:
    """Print a JSON list, one element per line, as the elements arrive."""
    before = "["
    for each in rows:
        sys.stdout.write(f"{before}\n  {json_text(each)}")
        before = ","
    sys.stdout.write("[]\n" if before == "[" else "\n]\n")


def json_value(value: Any) -> Any:  # noqa: PLR0911 - one per kind of value
    """Return the value in JSON's types; other types become text."""
    match value:
        case None | bool() | str() if not isinstance(value, Enum):
            return value
        case Enum():
            return json_value(value.value)
        case float() | Decimal():
            return float(value) if math.isfinite(value) else None
        case int():
            return int(value)
        case datetime():
            zoned = value if value.tzinfo else value.replace(tzinfo=UTC)
            return zoned.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case bytes():
            return value.decode(errors="backslashreplace")
        case Mapping():
            return {str(json_value(key)): json_value(each) for key, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [json_value(each) for each in value]
        case _:
            return str(value)


def _escaped(found: re.Match[str]) -> str:
    character = found.group()
    return character if character.isprintable() else json.dumps(character)[1:-1]


def note(text: str) -> None:
    """Print a remark on stderr, apart from the command's output."""
    print(printable(text), file=sys.stderr)


class ProgressBars:
    """A progress bar per stage; outside a terminal, lines."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

        self._console = console(stderr=True)
        self._bars = Progress(
            TextColumn("{task.description:<24}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[cost]}"),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._printed_at = time.monotonic()

    def update(self, stage: str, done: int, total: int, cost: str = "") -> None:
        """Report the progress of a stage, and its cost so far."""
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage, total=total, cost="")
        self._bars.update(self._tasks[stage], completed=done, total=total, cost=cost)
        if not self._console.is_terminal and time.monotonic() - self._printed_at > LINE_SECONDS:
            self._printed_at = time.monotonic()
            note(f"{stage}: {done:,} of {total:,} {cost}".rstrip())

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.stop()
