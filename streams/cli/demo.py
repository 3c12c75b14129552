"""`sager demo`: the whole pipeline on this machine, and what it learned."""

import json
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from streams.cli.options import examples

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

    from streams.demo.scenario import Scenario

USERS = 45
ROUNDS = 16
LINE_SECONDS = 2.0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "demo",
        short_help="Stream choices through a local pipeline.",
        epilog=examples(
            "sager demo", "sager demo --users 90 --rounds 20", "sager demo --data path/to/movielens --users 200 --json"
        ),
    )(demo)


def demo(
    data: Annotated[
        Path | None, typer.Option(help="A data set's folder; without it, simulated users of a built-in catalogue.")
    ] = None,
    users: Annotated[int | None, typer.Option(min=1, help=f"How many users [default: {USERS}].")] = None,
    rounds: Annotated[int, typer.Option(min=1, max=500, help="Choices per simulated user.")] = ROUNDS,
    seed: Annotated[int, typer.Option(help="Decides who chooses what.")] = 1,
    data_dir: Annotated[Path | None, typer.Option(help="Where the DuckDB file and the logs go.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON object.")] = False,
) -> None:
    """Stream choices through a local pipeline and show what it learned.

    Starts the embedded broker, a worker and the materializer, produces events as an app would, and ends by itself.
    Exit code 0: every event was processed and the log, the skills topic and DuckDB agree.
    """
    # Imported here: DuckDB, Kafka and rich are slow to import, and `sager --help` needs none of them.
    from rich.console import Console  # noqa: PLC0415

    from streams.demo.observer import Stalled  # noqa: PLC0415
    from streams.demo.report import show, summary  # noqa: PLC0415
    from streams.demo.run import Demo  # noqa: PLC0415
    from streams.exceptions import StreamsError  # noqa: PLC0415
    from streams.launch import Local  # noqa: PLC0415
    from streams.settings import Settings  # noqa: PLC0415

    console = Console(stderr=as_json)
    scenario = _scenario(data, users or USERS, rounds, seed)
    folder = data_dir or Path(tempfile.gettempdir()) / f"sager-demo-{time.strftime('%Y%m%d-%H%M%S')}"
    if not as_json:
        console.print(f"[bold]sager demo[/]: {scenario.describe()}")
    settings = Settings(data_dir=folder, publish_seconds=1.0, batch_seconds=0.3)
    # Ended by a signal or not, the processes that we started are ended in order.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with _Progress(console) as tell:
        tell("starting broker, worker and materializer", 0, 0)
        try:
            with Local(settings) as local:
                result = Demo(scenario, local, tell).run()
        except Stalled as error:
            raise StreamsError(f"the pipeline stalled: {error}; its logs are in {folder}") from error
    if as_json:
        json.dump(summary(result), sys.stdout)
        sys.stdout.write("\n")
    else:
        show(result, scenario, console)
    facts = summary(result)
    if not result.fold_agrees or facts["selections_unmatched"] or facts["dead_letters"]:
        raise StreamsError(f"not every event was processed as it should; the logs are in {folder}")


def _scenario(data: Path | None, users: int, rounds: int, seed: int) -> "Scenario":
    from streams.demo.scenario import Recorded, Simulated  # noqa: PLC0415

    return Simulated(users, rounds, seed) if data is None else Recorded(data, users, seed)


class _Progress:
    """One bar per stage on a terminal; elsewhere a line every few seconds."""

    def __init__(self, console: "Console") -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

        self._console = console
        self._bars = Progress(
            TextColumn("{task.description:<36}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._told = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage not in self._tasks:
            self._tasks[stage] = self._bars.add_task(stage, total=total or None)
        self._bars.update(self._tasks[stage], completed=done, total=total or None)
        if not self._console.is_terminal and time.monotonic() - self._told > LINE_SECONDS:
            self._told = time.monotonic()
            self._console.print(f"{stage}: {done} of {total}" if total else stage)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.stop()
