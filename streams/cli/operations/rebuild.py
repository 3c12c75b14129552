"""`sager rebuild`: all skills from the log of diffs alone."""

from typing import Annotated

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, connected_settings, examples, settings
from streams.cli.output import note, print_fields, print_json, print_rows
from streams.cli.policy.common import Yes, confirm
from streams.cli.progress import ProgressBars

app = typer.Typer()


@app.command(
    short_help="Fold all skills from the log, and compare.",
    epilog=examples("sager rebuild", "sager rebuild --apply", "sager rebuild --duckdb"),
)
def rebuild(
    apply: Annotated[bool, typer.Option("--apply", help="Write folded skills where they differ.")] = False,
    duckdb: Annotated[bool, typer.Option("--duckdb", help="Instead, remove the live DuckDB file.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Fold every skill from the log alone, without an LLM, and compare with the topic skills byte for byte.

    Workers may keep running, except with --apply. SAGER_CHAIN_KEY must be the workers' key. `sager policy verify` lists
    the differences. --duckdb removes the live DuckDB file, and `sager materialize` fills a new one.

    Exit code 1: the log and the topics differ, even if --apply has repaired them.
    """
    from streams.operations import rebuild as rebuilding  # noqa: PLC0415

    if duckdb:
        from streams.analytics.store import live_file, remove_live  # noqa: PLC0415

        configured = settings(bootstrap=bootstrap)
        question = f"Remove {live_file(configured)}? Rows older than the retention of the topics are lost."
        confirm(question, yes=yes)
        remove_live(configured)
        note("removed. `sager materialize` fills a new one from the topics")
        return
    chosen = connected_settings(bootstrap)
    with ProgressBars() as progress:
        report = rebuilding.rebuild(chosen, progress.update, apply=apply)
    if as_json:
        print_json({**vars(report), "fine": report.is_fine})
    else:
        print_fields({name: value for name, value in vars(report).items() if name != "examples"})
        print_rows(report.examples)
        if report.different and not apply:
            note("`sager policy verify` lists them; to repair them, stop the workers and run `sager rebuild --apply`")
    if not report.is_fine:
        raise typer.Exit(FAILED)
