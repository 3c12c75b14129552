"""The command line `sager`: one verb per job. `main` is its entry point.

Nothing slow is imported here or at the top of a command's module: `sager --help` has to answer at once.
"""

import os
import signal
import sys
from typing import Annotated

import typer

from streams import private
from streams.cli import config, policy, processes, slim
from streams.cli.data import coverage, export, importing, replay, schema_files, sql
from streams.cli.errors import INTERRUPTED, ReportingGroup
from streams.cli.evaluation import run as evaluation
from streams.cli.local import demo, up
from streams.cli.operations import acls, dead_letters, doctor, global_skill, rebuild, token, topics
from streams.cli.options import examples

app = typer.Typer(
    name="sager",
    cls=ReportingGroup,
    no_args_is_help=True,
    rich_markup_mode=None,  # help in rich's boxes takes twice as long to come
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples("sager demo", "sager up", "sager policy show ann"),
)


def _print_version(asked: bool) -> None:
    if not asked:
        return
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        print(f"sager {version('sager-streams')}")
    except PackageNotFoundError:
        print("sager, not installed: run from its source")
    raise typer.Exit


@app.callback()
def sager(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Streaming policy skills: teach an AI agent how each of its users decides, over Kafka.

    Settings come from SAGER_* variables and the TOML file that SAGER_CONFIG names; `sager config` prints them.
    """
    # Whatever a command writes may hold people's data, and is nobody else's.
    before = private.begin()
    ctx.call_on_close(lambda: os.umask(before))


for module in (
    *(demo, up, coverage, importing, policy, slim, sql, export, global_skill, processes, doctor, dead_letters, rebuild),
    *(replay, topics, acls, token, config, schema_files, evaluation),
):
    module.register(app)


def main() -> None:
    """Run the command line. Ctrl-C ends it with 130, at any moment, and without a traceback."""
    try:
        app(prog_name="sager")
    except KeyboardInterrupt:  # before a command runs, or after it has
        sys.exit(INTERRUPTED)
    finally:
        # What is left is the interpreter's own end.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
