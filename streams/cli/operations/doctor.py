"""`sager doctor`: what is wrong with a deployment, and what to do about it."""

from typing import TYPE_CHECKING, Any

import typer

from streams.cli.options import AsJson, Bootstrap, examples, settings
from streams.cli.output import console, print_json, printable

if TYPE_CHECKING:
    from rich.console import Console

    from streams.operations.doctor import Finding

_MARKS = {"ok": ("ok", "green"), "warning": ("warn", "yellow"), "error": ("ERROR", "bold red"), "skipped": ("-", "dim")}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "doctor",
        short_help="Examine broker, topics, workers, DuckDB and LLM.",
        epilog=examples("sager doctor", "sager doctor --bootstrap kafka:9092 --json"),
    )(doctor)


def doctor(as_json: AsJson = False, bootstrap: Bootstrap = None) -> None:
    """Examine the deployment: broker, topics, workers, DuckDB, LLM, settings, and what keeps others out.

    Each line states a finding and, if something is wrong, what to do. Nothing is changed. It ends within about half a
    minute, whatever hangs.

    Exit code 1: there is an error. Warnings alone give code 0.
    """
    chosen = settings(bootstrap=bootstrap)
    from streams.operations.doctor import Status, examine  # noqa: PLC0415

    out, found = console(), []
    for finding in examine(chosen):
        found.append(finding)
        if not as_json:
            _show(out, finding)
    if as_json:
        print_json([_as_json(finding) for finding in found])
    errors, warnings = (sum(f.status is status for f in found) for status in (Status.ERROR, Status.WARNING))
    if not as_json:
        out.print(f"\n{_counted(errors, 'error')}, {_counted(warnings, 'warning')}", markup=False)
    if errors:
        raise typer.Exit(1)


def _as_json(finding: "Finding") -> dict[str, Any]:
    return {"check": finding.check, "status": finding.status, "found": finding.found, "todo": finding.todo}


def _show(out: "Console", finding: "Finding") -> None:
    from rich.text import Text  # noqa: PLC0415

    mark, style = _MARKS[finding.status.value]
    line = Text.assemble((f"{mark:<6}", style), f"{finding.check:<13}", printable(finding.found))
    if finding.todo:
        line.append(f"\n{'':<19}→ {printable(finding.todo)}", style="bold" if finding.status == "error" else "")
    out.print(line, soft_wrap=True)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s'[: number != 1]}"
