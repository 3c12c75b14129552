"""Output of commands: tables, JSON, and progress and errors on stderr.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | not done, for the reason in the message |
| 2 | the command line was wrong, or a confirmation is missing |
| 130 | interrupted from the keyboard |
| 141 | the reader of the output closed it, for example `head` |
"""

import json
import math
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Self

import typer

from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

FAILED, WRONG_USE, INTERRUPTED, CLOSED_PIPE = 1, 2, 130, 141
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


def print_table(
    columns: Iterable[str], rows: Iterable[Iterable[object]], title: str | None = None, whole: Iterable[str] = ()
) -> None:
    """Print rows as a table; columns in `whole` (ids) never wrap."""
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    heading = None if title is None else Text(printable(title), style="bold")
    made = Table(box=SIMPLE_HEAD, title=heading, title_justify="left", pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold", no_wrap=column in whole)
    for cells in rows:
        made.add_row(*(Text(printable(str(cell))) for cell in cells))  # plain text, which rich must not parse
    console().print(made)


def print_rows(rows: Sequence[Mapping[str, Any]], title: str | None = None, whole: Iterable[str] = ()) -> None:
    """Print rows with the same keys as a table."""
    if rows:
        columns = [name.replace("_", " ") for name in rows[0]]
        print_table(columns, (map(format_value, each.values()) for each in rows), title, whole)


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
    print(json_text(value, 2))


def print_json_line(value: Any) -> None:
    """Print one JSON document on a line, and flush it."""
    print(json_text(value), flush=True)


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


@contextmanager
def report_errors() -> Iterator[None]:
    """Report expected errors in one message; bugs keep their traceback."""
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # The interpreter flushes the rest of the buffer at exit, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(CLOSED_PIPE) from None
    except Exception as error:
        if _is_interruption(error):
            raise typer.Exit(INTERRUPTED) from None
        message = error_message(error)
        if message is None:
            raise
        # DuckDB and Kafka quote their input, which may be an app's text with control characters.
        print(f"sager: {printable(message)}", file=sys.stderr)
        raise typer.Exit(FAILED) from None


def error_message(error: Exception) -> str | None:
    """Return the message of an expected error; None for a bug."""
    ours = (("schemas.codec", "SchemaError"), ("operators.statinit", "UnknownParser"))
    if isinstance(error, StreamsError) or any(_is(error, *name) for name in ours):
        return str(error)
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    if _is(error, "pydantic", "ValidationError"):
        return _of_validation(error)
    if _is(error, "confluent_kafka", "KafkaException"):
        return f"Kafka: {error.args[0].str()}. `sager doctor` checks the broker"
    if _is(error, "duckdb", "Error"):
        return f"DuckDB: {error}"
    return None


def _is(error: Exception, module: str, name: str) -> bool:
    """Return True for an error of this class, without importing its module."""
    imported = sys.modules.get(module)
    return imported is not None and isinstance(error, getattr(imported, name))


def _is_interruption(error: Exception) -> bool:
    """Return True for Ctrl-C that a library has turned into another error."""
    # pydantic keeps its name. confluent-kafka, interrupted in a callback, keeps it as the cause or loses it.
    if isinstance(error, SystemError):
        is_lost = "'cimpl." in str(error) and str(error).endswith("without setting an exception")
        return is_lost or isinstance(error.__cause__, KeyboardInterrupt)
    return _is(error, "pydantic_core", "PydanticSerializationError") and KeyboardInterrupt.__name__ in str(error)


def _of_validation(error: Any) -> str:
    """Name the wrong settings, but not their values: they may be secret."""
    details = error.errors(include_url=False, include_context=False, include_input=False)
    if error.title == "Settings":
        fields = [str(each["loc"][0]) if each["loc"] else "" for each in details]
        names = [field if field.isupper() else f"SAGER_{field.upper()}" for field in fields]
        reasons = "; ".join(f"{name}: {_rule(each)}" for name, each in zip(names, details, strict=True))
        return f"the configuration is wrong: {reasons}. `sager config --help` explains where settings come from"
    reasons = "; ".join(": ".join(filter(None, (".".join(map(str, e["loc"])), _rule(e)))) for e in details[:5])
    return f"invalid {error.title}: {reasons}"


def _rule(detail: Mapping[str, Any]) -> str:
    return str(detail["msg"]).removeprefix("Value error, ")
