"""The command line `sager`: one verb per job. `main` is its entry point.

A command's module is loaded when the command is asked for (`groups`), and imports nothing slow at its top: `sager
--help` loads them all, and has to answer at once.
"""

import gc
import os
import signal
import sys
from typing import Annotated

import typer

from streams import permissions
from streams.cli.errors import INTERRUPTED
from streams.cli.groups import HeadedGroup
from streams.cli.options import examples

IMPORTED_OBJECTS = 100_000
"""The garbage collector runs after so many new objects, more than the imports of most commands make."""

app = typer.Typer(
    name="sager",
    cls=HeadedGroup,
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
    # The output of a command may hold people's data.
    before = permissions.begin()
    ctx.call_on_close(lambda: os.umask(before))


def main() -> None:
    """Run the command line. Ctrl-C ends it with 130, at any moment, and without a traceback."""
    # Each takes a tenth of a short command's time: collecting garbage among imported objects, which nothing ever drops,
    # and searching all installed distributions for plug-ins of pydantic.
    gc.set_threshold(IMPORTED_OBJECTS)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    try:
        app(prog_name="sager")
    except KeyboardInterrupt:  # before a command runs, or after it has
        sys.exit(INTERRUPTED)
    finally:
        # Nothing is left but the interpreter's own end.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
