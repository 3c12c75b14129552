"""Progress of long commands: a bar on a terminal, elsewhere a line every few seconds; always on stderr."""

import time
from typing import TYPE_CHECKING, Self

from streams.cli.output import console, note

if TYPE_CHECKING:
    from rich.progress import TaskID

LINE_SECONDS = 3.0
_MINUTES_FROM = 120
"""From so many seconds on, the time left is in minutes."""


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
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.fields[cost]}"),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._began: dict[str, float] = {}
        self._printed_at = time.monotonic()

    def at(self, stage: str, done: int, total: int, cost: str = "") -> None:
        """Report how far a stage is, and its cost so far."""
        now = time.monotonic()
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage, total=total, rate="", left="", cost="")
            self._began[stage] = now
        rate, left = _pace(done, total, now - self._began[stage])
        self._bars.update(self._tasks[stage], completed=done, total=total, rate=rate, left=left, cost=cost)
        if not self._console.is_terminal and now - self._printed_at > LINE_SECONDS:
            self._printed_at = now
            note(", ".join(filter(None, (f"{stage}: {done:,} of {total:,}", rate, left, cost))))

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.stop()


def _pace(done: int, total: int, seconds: float) -> tuple[str, str]:
    """Return the rate, per minute if it is slow, and the time left at that rate.

    >>> _pace(50, 200, 10), _pace(1, 61, 20), _pace(200, 200, 10)
    (('5/s', '30 s left'), ('3/min', '20 min left'), ('20/s', ''))
    """
    each = done / max(seconds, 0.001)
    rate = f"{each:,.0f}/s" if each >= 1 or not done else f"{60 * each:.0f}/min"
    if not 0 < done < total:
        return rate, ""
    left = (total - done) / each
    return rate, f"{left:.0f} s left" if left < _MINUTES_FROM else f"{left / 60:.0f} min left"
