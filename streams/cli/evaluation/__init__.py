"""`sager eval`: options of evaluations; output as JSON lines or tables."""

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from streams.cli.options import examples
from streams.cli.output import format_value, print_json_line, print_table

FOLDER = Path(".sager")  # for results and cached replies of models
REQUIRED_EXTRA = ("an evaluation", "eval", "numpy", "scipy")

Domain = Annotated[str | None, typer.Option(help="The items' domain, overriding their own.", metavar="DOMAIN")]
Seed = Annotated[int, typer.Option(help="The seed of all random draws.")]
People = Annotated[int | None, typer.Option(min=1, help="Only the first people. [default: all]", metavar="N")]
Budget = Annotated[int | None, typer.Option(min=1, help="Stop before more LLM calls; cached replies are free.")]

app = typer.Typer()
group = typer.Typer(
    invoke_without_command=True,
    epilog=examples(
        "sager eval --data data/ --arm no-skill,sager --candidates popular --users 500",
        "sager eval paper --data data/ --report paper.md",
        "sager eval stream --data data/ --candidates popular",
        "sager eval feedback --data pahf/ --replies structured",
        "sager eval conversations --invent people/",
    ),
)
app.add_typer(group, name="eval")


def print_lines(lines: Sequence[Mapping[str, Any]], as_json: bool, title: str | None = None) -> None:
    """Print JSON lines, or a table with a column per line."""
    if as_json:
        for line in lines:
            print_json_line(line)
        return
    names = dict.fromkeys(name for line in lines for name in line)
    rows = ([name.replace("_", " "), *(format_value(line.get(name)) for line in lines)] for name in names)
    print_table(["figure", *[""] * len(lines)], rows, title)


def choices_of(text: str, known: Iterable[Any], option: str, ctx: typer.Context) -> list[Any]:
    """Parse a comma-separated option into at least one of the known values."""
    by_name = {str(each): each for each in known}
    names = dict.fromkeys(name.strip() for name in text.split(",") if name.strip())
    if not names or not names.keys() <= by_name.keys():
        raise typer.BadParameter(f"name at least one of {', '.join(by_name)}", ctx, param_hint=option)
    return [by_name[name] for name in names]


for verbs in ("leave_one_out", "simulations"):
    import_module(f"{__name__}.{verbs}")
