"""Progress of long commands on stderr: bars on a terminal, elsewhere a line every few seconds."""

import time
from typing import TYPE_CHECKING, Self

from streams.cli.output import console, note

if TYPE_CHECKING:
    from rich.progress import TaskID

LINE_SECONDS = 3.0


class ProgressBars:
    """One progress bar per stage. Use it as a context manager."""

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
