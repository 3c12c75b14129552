"""Prints figures: JSON lines for programs, tables for people."""

from collections.abc import Iterable, Mapping, Sequence
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


def print_lines(lines: Iterable[Mapping[str, Any]]) -> None:
    """Print one JSON object per line."""
    for line in lines:
        print_json_line(line)


def print_table(
    lines: Sequence[Mapping[str, Any]], columns: Sequence[str], title: str, caption: str | None = None
) -> None:
    """Print a table with a row per line.

    Args:
        lines: the figures.
        columns: the keys to show; `a/b` is the key `b` of the value of `a`.
        title: above the table.
        caption: below it.
    """
    made = table(*(column.replace("_", " ") for column in columns), title=title, caption=caption)
    for line in lines:
        row(made, [cell(_value(line, column)) for column in columns])
    console().print(made)


def print_figures(figures: Mapping[str, Any], title: str | None = None) -> None:
    """Print a table with a row per figure; figures of groups are indented."""
    made = table("figure", "value", title=title)
    for name, value in figures.items():
        is_group = isinstance(value, Mapping)
        row(made, [name.replace("_", " "), "" if is_group else cell(value)])
        for part, each in value.items() if isinstance(value, Mapping) else ():
            row(made, [f"  {part}", cell(each)])
    console().print(made)


def cell(value: Any) -> str:
    """A figure as text.

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


def _value(line: Mapping[str, Any], column: str) -> Any:
    value: Any = line
    for key in column.split("/"):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def names_of(values: Iterable[str]) -> list[str]:
    """The names in options that are given by comma, repeated, or both; each once."""
    return list(dict.fromkeys(name.strip() for value in values for name in value.split(",") if name.strip()))


def members(kind: "type[StrEnum]", values: Iterable[str], option: str, ctx: typer.Context) -> list[Any]:
    """The members of an enumeration with these names, by comma.

    Raises:
        typer.BadParameter: there is none, or a name is unknown.
    """
    names = names_of(values)
    if unknown := [name for name in names if name not in set(kind)] or not names:
        given = "nothing" if unknown is True else ", ".join(unknown)
        raise typer.BadParameter(f"{given} is none of {', '.join(kind)}", ctx, param_hint=option)
    return [kind(name) for name in names]
