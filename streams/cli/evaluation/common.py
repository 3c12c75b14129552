"""Options of evaluations, and output: JSON lines for programs, tables for people."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.output import console, format_value, print_json_line, row, table

if TYPE_CHECKING:
    from enum import StrEnum

FOLDER = Path(".sager")  # for results and cached replies of models
EXTRA = ("an evaluation", "eval", "numpy", "scipy")

Data = Annotated[Path, typer.Option(help="The data set's folder, as for `sager import`.", metavar="DIR")]
Domain = Annotated[str | None, typer.Option(help="The items' domain, overriding their own.", metavar="DOMAIN")]
Seed = Annotated[int, typer.Option(help="The seed of all random draws.")]
People = Annotated[int | None, typer.Option(min=1, help="Only the first people. [default: all]", metavar="N")]
Budget = Annotated[int | None, typer.Option(min=1, help="Stop before more LLM calls; cached replies are free.")]


def print_lines(lines: Sequence[Mapping[str, Any]], as_json: bool, title: str | None = None) -> None:
    """Print JSON lines, or a table with a column per line."""
    if as_json:
        for line in lines:
            print_json_line(line)
        return
    made = table("figure", *[""] * len(lines), title=title)
    for name in dict.fromkeys(name for line in lines for name in line):
        row(made, [name.replace("_", " "), *(format_value(line.get(name)) for line in lines)])
    console().print(made)


def names_of(text: str) -> list[str]:
    """Split a comma-separated option into distinct names."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def arms_of(text: str, known: Mapping[str, object], ctx: typer.Context) -> list[str]:
    """Parse the option `--arm`: at least one name of an arm."""
    names = names_of(text)
    if not names or not set(names) <= set(known):
        raise typer.BadParameter(f"name at least one of {', '.join(known)}", ctx, param_hint="--arm")
    return names


def members(kind: "type[StrEnum]", text: str, option: str, ctx: typer.Context) -> list[Any]:
    """Parse a comma-separated option into members of an enumeration."""
    names = names_of(text)
    if not names or not set(names) <= set(kind):
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(kind)}", ctx, param_hint=option)
    return [kind(name) for name in names]
