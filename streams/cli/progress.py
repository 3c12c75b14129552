"""How far a long command is: a bar on a terminal, elsewhere a line every few seconds; always on stderr."""

import time
from typing import TYPE_CHECKING, Self

from streams.cli.output import console, note

if TYPE_CHECKING:
    from rich.progress import TaskID

LINE_SECONDS = 3.0


class Stages:
    """One bar per stage. Use it as a context manager."""

    def __init__(self) -> None:
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
        )

        self._console = console(stderr=True)
        self._bars = Progress(
            TextColumn("{task.description:<24}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]:>10}"),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._began: dict[str, float] = {}
        self._told = time.monotonic()

    def at(self, stage: str, done: int, total: int) -> None:
        """Say how far a stage is."""
        now = time.monotonic()
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage, total=total, rate="")
            self._began[stage] = now
        rate = f"{done / max(now - self._began[stage], 0.001):,.0f}/s"
        self._bars.update(self._tasks[stage], completed=done, total=total, rate=rate)
        if not self._console.is_terminal and now - self._told > LINE_SECONDS:
            self._told = now
            note(f"{stage}: {done:,} of {total:,}, {rate}")

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.stop()
