"""The command line `sager`: one verb per job.

A command's module is imported on use, because importing all takes longer than most commands. It imports nothing slow
at its top, because `sager --help` imports them all.
"""

import gc
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from streams import permissions
from streams.cli.options import examples
from streams.cli.output import INTERRUPTED, report_errors

# More new objects than the imports of most commands create: collecting among them frees nothing.
IMPORTED_OBJECTS = 100_000
# The modules of the commands, by heading of the help.
HEADINGS: dict[str, dict[str, str]] = {
    "Getting started": {"demo": "local", "up": "local", "import": "importing"}
    | dict.fromkeys(("doctor", "config"), "deployment"),
    "A person's policy": {"policy": "policy", "mcp": "processes"},
    "Data and analysis": {"sql": "sql", "replay": "skills", "global-skill": "skills", "schemas": "deployment"},
    "Operations": dict.fromkeys(("worker", "materialize", "serve", "webhooks", "console"), "processes")
    | dict.fromkeys(("topics", "acls", "token", "dead-letters"), "deployment")
    | {"rebuild": "skills", "weights": "skills"},
    "Evaluation": {"eval": "evaluation"},
}


class Commands(Mapping[str, Any]):
    """The commands by name, each loaded on access from its module."""

    def __init__(self, headings: Mapping[str, Mapping[str, str]]) -> None:
        self._modules = {name: module for listed in headings.values() for name, module in listed.items()}
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            module = import_module(f"streams.cli.{self._modules[name]}")
            app = typer.Typer(rich_markup_mode=None)  # rich's boxes take twice as long
            app.add_typer(module.app)
            self._loaded |= typer.main.get_group(app).commands
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


class HeadedGroup(TyperGroup):
    """The top-level group: its help lists the commands under headings."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.commands = cast("dict[str, Any]", Commands(HEADINGS))

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and report expected errors."""
        with report_errors():
            return super().invoke(ctx)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, one per line."""
        widest = max(map(len, self.commands))
        limit = formatter.width - 6 - widest
        for heading, listed in HEADINGS.items():
            with formatter.section(heading):
                # Padded, so that the columns of all headings align.
                lines = [(f"{name:<{widest}}", self.commands[name].get_short_help_str(limit)) for name in listed]
                formatter.write_dl(lines)


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
    """Teach an AI agent how each of its users decides, over Kafka.

    Settings come from SAGER_* variables and the TOML file that SAGER_CONFIG names; `sager config` prints them.
    """
    # The output of a command may hold people's data.
    before = permissions.set_umask()
    ctx.call_on_close(lambda: os.umask(before))


def main() -> None:
    """Run the command line; Ctrl-C ends it without a traceback."""
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
