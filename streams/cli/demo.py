"""`sager demo`: choices of simulated users through a local pipeline."""

import shlex
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.options import AsJson, examples, settings
from streams.cli.output import ProgressBars, console, note, print_fields, print_json_line, printable, row, table
from streams.cli.processes import writable_folder
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from schemas import Attribute
    from streams.local.demo.run import DemoResult
    from streams.local.demo.scenario import Scenario

USERS, ROUNDS, SHOWN_LINES = 45, 16, 8

app = typer.Typer()


@app.command(
    short_help="Stream choices through a local pipeline.",
    epilog=examples("sager demo", "SAGER_REASONER=llm sager demo --users 6 --rounds 2 --json"),
)
def demo(
    users: Annotated[int, typer.Option(min=1, help="How many users choose.")] = USERS,
    rounds: Annotated[int, typer.Option(min=1, max=500, help="Choices of each user.")] = ROUNDS,
    seed: Annotated[int, typer.Option(help="Decides who chooses what.")] = 1,
    data_dir: Annotated[Path | None, typer.Option(help="Where the DuckDB file and the logs go.")] = None,
    as_json: AsJson = False,
) -> None:
    """Stream choices through a local pipeline and show the learned skills.

    Starts the embedded broker, a worker and the materializer, sends events as an app would, and stops by itself. Exit
    code 0: every event was processed, and the log, the skills topic and DuckDB agree.
    """
    from streams.local.demo.run import Demo  # noqa: PLC0415
    from streams.local.demo.scenario import Scenario  # noqa: PLC0415
    from streams.local.journal import path_of  # noqa: PLC0415
    from streams.local.pipeline import LocalPipeline  # noqa: PLC0415

    folder = writable_folder(data_dir or Path(tempfile.gettempdir()) / f"sager-demo-{time.strftime('%Y%m%d-%H%M%S')}")
    # The demo waits for commits and for the last snapshot.
    chosen = settings(data_dir=folder, publish_seconds=1.0, batch_seconds=0.3, commit_seconds=0.2)
    if path_of(chosen).exists():
        raise StreamsError(f"{folder} has the events of an earlier run: choose a new folder with --data-dir")
    scenario = Scenario(users, rounds, seed)
    note(f"sager demo: {scenario.describe()}. The logs are in {folder}")
    # SystemExit runs the context managers below, which end the child processes in order.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with ProgressBars() as progress, LocalPipeline(chosen) as local:
        result = Demo(scenario, local, progress.update).run()
    # At its end, the materializer has published everything.
    figures = {**result.figures, "duckdb": chosen.duckdb_file, "duckdb_agrees": result.is_in_duckdb(chosen)}
    if as_json:
        print_json_line(figures)
    else:
        _show_user(result, scenario)
        print_fields(figures)
        print(f"\nQuery the file: sager sql --duckdb {shlex.quote(str(chosen.duckdb_file))} --list")
    is_complete = figures["contrasts"] == figures["selections"] and not figures["dead_letters"]
    if not (is_complete and figures["log_is_verified"] and figures["duckdb_agrees"]):
        raise StreamsError(f"some events were not processed correctly. See the logs in {folder}")


def _show_user(result: "DemoResult", scenario: "Scenario") -> None:
    """Print the skill with the most discovered lines, before and after."""
    key = max(result.skills, key=lambda key: sum(line.source == "discovered" for line in result.skills[key].attributes))
    skill = result.skills[key]
    before, after = _lines(result.firsts[key].seed or ()), _lines(skill.attributes)
    made = table("before: the prior", f"after {skill.contrasts} choices", title=f"{key[0]} · {key[1]}")
    for cells in zip_longest(before, after, fillvalue=""):
        row(made, cells)
    console().print(made)
    if (slim := result.slims.get(key)) is not None:
        print(printable(f"slim skill: {slim.text} ({slim.tokens} tokens)"))
    print(f"hidden policy: {', '.join(scenario.wants(key[0]))}\n")


def _lines(attributes: "Iterable[Attribute]") -> list[str]:
    from operators.learning.fold import format_line  # noqa: PLC0415

    lines = sorted((a for a in attributes if a.tier), key=lambda a: (-a.tier, -a.confirmed_at, a.attribute_id))
    more = [f"and {len(lines) - SHOWN_LINES} more"] if len(lines) > SHOWN_LINES else []
    return [*map(format_line, lines[:SHOWN_LINES]), *more]
