"""Asks before a command changes or erases anything."""

import sys
from typing import Annotated

import typer

from streams.cli.errors import FAILED, WRONG_USE
from streams.cli.output import note, printable

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def confirm(question: str, *, yes: bool) -> None:
    """Return if the answer is yes.

    Raises:
        Exit: it is no, with code 1; or there is no terminal to ask at, with code 2.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        note(f"{question} There is no terminal to ask at: confirm with --yes")
        raise typer.Exit(WRONG_USE)
    # typer.confirm would put a blank on stdout, before the answer of the command.
    print(f"{printable(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
        note("nothing was done")
        raise typer.Exit(FAILED)
