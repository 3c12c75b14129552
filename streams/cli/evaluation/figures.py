"""Options of evaluations, and their figures: JSON lines for programs, tables for people."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.output import console, print_json_line, row, table

if TYPE_CHECKING:
    from enum import StrEnum

FOLDER = Path(".sager")
"""The folder of results and kept replies."""
EXTRA = ("an evaluation", "eval", "numpy", "scipy")
INTERVALS = "intervals: 95 %, bootstrap over users"

Data = Annotated[Path, typer.Option(help="The folder with the data set's files, as of `sager import`.", metavar="DIR")]
Domain = Annotated[str | None, typer.Option(help="The items' domain, overriding their own.", metavar="DOMAIN")]
Seed = Annotated[int, typer.Option(help="Of the sample, the draws and the presentation.")]
People = Annotated[int | None, typer.Option(min=1, help="Only the first people. [default: all]", metavar="N")]
Budget = Annotated[
    int | None, typer.Option(min=1, help="Stop before more LLM calls than these; kept replies cost none.")
]


def print_lines(lines: Sequence[Mapping[str, Any]], as_json: bool, title: str = "") -> None:
    """Print one JSON object per line; for people a table with a row per figure and a column per line."""
    if as_json:
        for line in lines:
            print_json_line(line)
        return
    made = table("figure", *[""] * len(lines), title=title, caption=INTERVALS)
    for name in dict.fromkeys(name for line in lines for name in line):
        row(made, [name.replace("_", " "), *(cell(line.get(name)) for line in lines)])
    console().print(made)


def cell(value: Any) -> str:
    """Format a figure.

    >>> cell(0.25), cell(1200), cell(None), cell([0.1, 0.2]), cell({"difference": 0.1, "ci95": [-0.1, 0.3]})
    ('0.250', '1,200', '-', '0.100, 0.200', '+0.100 [-0.100, +0.300]')
    """
    if isinstance(value, dict) and value.keys() == {"difference", "ci95"}:
        bounds = value["ci95"]
        return f"{value['difference']:+.3f}{'' if bounds is None else ' [{:+.3f}, {:+.3f}]'.format(*bounds)}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {cell(each)}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(cell, value))
    if isinstance(value, float):
        return f"{value:.3f}"
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def names_of(given: str) -> list[str]:
    """Return the names in an option that lists them by comma, each once."""
    return list(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))


def members(kind: "type[StrEnum]", given: str, option: str, ctx: typer.Context) -> list[Any]:
    """Return the members of an enumeration with these names, by comma.

    Raises:
        typer.BadParameter: there is none, or a name is unknown.
    """
    names = names_of(given)
    if not names or not set(names) <= set(kind):
        raise typer.BadParameter(f"{given!r} is not of {', '.join(kind)}", ctx, param_hint=option)
    return [kind(name) for name in names]
