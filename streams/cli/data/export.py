"""`sager export`: the newest DuckDB snapshot as hive-partitioned Parquet."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from streams.cli.options import AsJson, examples, settings
from streams.cli.output import console, print_json, row, table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "export",
        epilog=examples(
            "sager export --to export",
            "sager export --to january --table outcomes --table skill_diffs --since 2026-01-01",
        ),
    )(export)


def export(
    to: Annotated[Path, typer.Option(help="The folder to create.", metavar="DIR")],
    tables: Annotated[list[str] | None, typer.Option("--table", help="Only this table; may be given again.")] = None,
    since: Annotated[
        datetime | None,
        typer.Option(help="Export only events from this moment on, in UTC.", formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Export the newest DuckDB snapshot as Parquet.

    One folder per table, partitioned by domain and day: DIR/skill_diffs/domain=films/day=2026-01-31/*.parquet. The
    export appears whole or not at all; manifest.json lists its contents and how fresh they are.
    """
    from streams.cli.progress import Stages  # noqa: PLC0415
    from streams.materializer import export as exporting  # noqa: PLC0415
    from streams.materializer import read  # noqa: PLC0415
    from streams.materializer.export import Exported  # noqa: PLC0415

    chosen = settings()
    con = read.connect(chosen, files=True)
    done: list[Exported] = []
    try:
        total = len(set(tables or exporting.exportable()))
        with Stages() as stages:
            names = list(dict.fromkeys(tables or ()))
            for each in exporting.export(con, to, names, since, group=chosen.group):
                done.append(each)
                stages.at("tables", len(done), total)
    finally:
        con.close()
    if as_json:
        print_json({each.table: {"rows": each.rows, "files": each.files, "bytes": each.bytes} for each in done})
        return
    made = table("table", "rows", "files", "bytes", "split by", title=f"{to}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
    for each in done:
        row(made, [each.table, f"{each.rows:,}", each.files, f"{each.bytes:,}", ", ".join(each.partitioned_by)])
    console().print(made)
