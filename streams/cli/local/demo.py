"""`sager demo`: the whole pipeline on this machine, and the skills that it learned."""

import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from streams.cli.options import AsJson, examples, settings
from streams.cli.output import console, note, print_json_line
from streams.cli.processes import writable
from streams.cli.progress import Stages
from streams.exceptions import StreamsError

USERS, ROUNDS = 45, 16


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "demo",
        short_help="Stream choices through a local pipeline.",
        epilog=examples("sager demo", "SAGER_REASONER=llm sager demo --users 6 --rounds 2 --json"),
    )(demo)


def demo(
    users: Annotated[int, typer.Option(min=1, help="How many users choose.")] = USERS,
    rounds: Annotated[int, typer.Option(min=1, max=500, help="Choices of each user.")] = ROUNDS,
    seed: Annotated[int, typer.Option(help="Decides who chooses what.")] = 1,
    data_dir: Annotated[Path | None, typer.Option(help="Where the DuckDB file and the logs go.")] = None,
    as_json: AsJson = False,
) -> None:
    """Stream choices through a local pipeline and show the skills that it learned.

    Starts the embedded broker, a worker and the materializer, produces events as an app would, and ends by itself. Exit
    code 0: every event was processed and the log, the skills topic and DuckDB agree.
    """
    from streams.demo.observer import Stalled  # noqa: PLC0415
    from streams.demo.report import show, summary  # noqa: PLC0415
    from streams.demo.run import Demo  # noqa: PLC0415
    from streams.demo.scenario import Simulated  # noqa: PLC0415
    from streams.local.launch import Local  # noqa: PLC0415

    folder = writable(data_dir or Path(tempfile.gettempdir()) / f"sager-demo-{time.strftime('%Y%m%d-%H%M%S')}")
    chosen = settings(data_dir=folder, publish_seconds=1.0, batch_seconds=0.3)
    scenario = Simulated(users, rounds, seed)
    note(f"sager demo: {scenario.describe()}")
    # The processes that we started are ended in order, also after a signal.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with Stages() as stages:
        try:
            with Local(chosen) as local:
                result = Demo(scenario, local, stages.at).run()
        except Stalled as error:
            raise StreamsError(f"the pipeline stalled: {error}; its logs are in {folder}") from error
    facts = summary(result)
    if as_json:
        print_json_line(facts)
    else:
        show(result, scenario, console())
    if not result.fold_agrees or facts["selections_unmatched"] or facts["dead_letters"]:
        raise StreamsError(f"not every event was processed as it should; the logs are in {folder}")
