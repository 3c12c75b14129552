"""What `sager sql` and its prompt share: the layout that was asked for, and the progress of a query that takes long."""

import time
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from streams.cli.progress import Stages

QUIET_SECONDS = 2.0
GIB = 1024**3


class Mode(StrEnum):
    """How rows are printed; `auto` is a table, or vertical where that is too wide."""

    AUTO = "auto"
    TABLE = "table"
    VERTICAL = "vertical"
    WRAPPED = "wrapped"
    JSON = "json"
    CSV = "csv"


def mode_of(*, as_json: bool, as_csv: bool, vertical: bool, as_table: bool) -> Mode:
    """The mode that the command's options ask for."""
    asked = {Mode.JSON: as_json, Mode.CSV: as_csv, Mode.VERTICAL: vertical, Mode.TABLE: as_table}
    return next((mode for mode, wanted in asked.items() if wanted), Mode.AUTO)


def print_answer(columns: Sequence[str], rows: Iterator[Sequence[Any]], mode: Mode, *, full: bool) -> int:
    """Print an answer; how many rows it has, at most as many as are shown.

    Args:
        columns: their headings.
        rows: the values, as they come.
        mode: how.
        full: cut no long value where people read it.
    """
    from streams.cli.data import rows as printing  # noqa: PLC0415 - while the query is under way

    counted = _Counted(rows)
    if mode is Mode.JSON:
        printing.print_json(columns, counted)
    elif mode is Mode.CSV:
        printing.print_csv(columns, counted)
    else:
        return printing.print_rows(columns, counted, printing.Layout[mode.name], full=full)
    return counted.count


class Progress:
    """A bar for a query that takes long, until its rows come. A context manager."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._stages: Stages | None = None

    def at(self, percent: int | None) -> None:
        """Tell how far the query is, in percent; None when something has come."""
        if percent is None:
            self.__exit__()
        elif self._stages is not None or time.monotonic() - self._began > QUIET_SECONDS:
            if self._stages is None:
                from streams.cli.progress import Stages  # noqa: PLC0415

                self._stages = Stages().__enter__()
            self._stages.at("query", percent, 100)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._stages is not None:
            self._stages.__exit__()
        self._stages, self._began = None, time.monotonic()


class _Counted(Iterator[Sequence[Any]]):
    def __init__(self, rows: Iterator[Sequence[Any]]) -> None:
        self._rows, self.count = rows, 0

    def __next__(self) -> Sequence[Any]:
        row = next(self._rows)
        self.count += 1
        return row
