"""`sager doctor`: what is wrong with a deployment, and what to do about it."""

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, examples, settings
from streams.cli.output import console, print_json, printable

_MARKS = {"ok": ("ok", "green"), "warning": ("warn", "yellow"), "error": ("ERROR", "bold red"), "skipped": ("-", "dim")}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "doctor",
        short_help="Examine broker, topics, workers, DuckDB and LLM.",
        epilog=examples("sager doctor", "sager doctor --bootstrap kafka:9092 --json"),
    )(doctor)


def doctor(as_json: AsJson = False, bootstrap: Bootstrap = None) -> None:
    """Examine the deployment: broker, topics, workers, DuckDB, LLM, settings, and access of others.

    Each line states a finding and, if something is wrong, what to do. Nothing is changed. It ends within about half a
    minute.

    Exit code 1: there is an error. Warnings alone give code 0.
    """
    chosen = settings(bootstrap=bootstrap)
    from rich.text import Text  # noqa: PLC0415

    from streams.operations.doctor import Status, examine  # noqa: PLC0415

    out, found = console(), []
    for each in examine(chosen):
        found.append(each)
        if not as_json:
            mark, style = _MARKS[each.status.value]
            line = Text.assemble((f"{mark:<6}", style), f"{each.check:<13}", printable(each.found))
            if each.todo:
                line.append(f"\n{'':<19}→ {printable(each.todo)}", style="bold" if each.status == "error" else "")
            out.print(line, soft_wrap=True)
    errors, warnings = (sum(each.status is status for each in found) for status in (Status.ERROR, Status.WARNING))
    if as_json:
        print_json([vars(each) for each in found])
    else:
        counts = (f"{number} {what}{'s'[: number != 1]}" for number, what in ((errors, "error"), (warnings, "warning")))
        out.print(f"\n{', '.join(counts)}", markup=False)
    if errors:
        raise typer.Exit(FAILED)
