"""The command line `sager`: one verb per job. `main` is its entry point.

A command's module is imported with the command (`groups`) and imports nothing slow at its top, because `sager --help`
imports them all.
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

# More new objects than the imports of most commands create: collecting among them frees nothing.
IMPORTED_OBJECTS = 100_000

app = typer.Typer(
    name="sager",
    cls=HeadedGroup,
    no_args_is_help=True,
    rich_markup_mode=None,  # rich's boxes take twice as long
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples("sager demo", "sager up", "sager policy show ann"),
)


def _print_version(requested: bool) -> None:
    if not requested:
        return
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        print(f"sager {version('sager-streams')}")
    except PackageNotFoundError:
        print("sager, running from its source tree")
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
    before = permissions.set_umask()
    ctx.call_on_close(lambda: os.umask(before))


def main() -> None:
    """Run the command line. Ctrl-C ends it with exit code 130 and without a traceback."""
    # Garbage collection, and pydantic's search for plug-ins, each take a tenth of a short command's time.
    gc.set_threshold(IMPORTED_OBJECTS)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    try:
        app(prog_name="sager")
    except KeyboardInterrupt:  # before or after the command itself
        sys.exit(INTERRUPTED)
    finally:
        # From here on, a second Ctrl-C would only print a traceback of the interpreter's shutdown.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
