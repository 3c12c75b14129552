"""`sager eval report`: the results of evaluations as tables and pictures."""

from pathlib import Path
from typing import Annotated

import typer

from streams.cli.extras import need_eval
from streams.cli.output import note

RESULTS = Path(".sager/quality.duckdb")
OUT = Path(".sager/quality")


def report(
    results: Annotated[Path, typer.Option(help="The DuckDB file with the results.", metavar="FILE")] = RESULTS,
    out: Annotated[Path, typer.Option(help="Where to write; it is created.", metavar="DIR")] = OUT,
    baseline: Annotated[str, typer.Option(help="Compare the others with this arm.", metavar="NAME")] = "no-skill",
    full: Annotated[
        str | None,
        typer.Option(
            help="What ablations take parts from. [default: sager-llm, or else sager-rules]",
            metavar="NAME",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write report.md, index.html (one page, pictures inside) and the pictures as PNG.

    The newest result of each data set, candidates, arm, tau, budget, number of users and seed is told, in the layout
    of the paper's tables and next to its figures. What has no result yet names the command that makes it.
    """
    from evaluation.exceptions import BadResults  # noqa: PLC0415

    need_eval("numpy", "scipy", "matplotlib")
    if not results.is_file():  # opening it would make an empty one
        raise BadResults(f"there is no {results} yet: `sager eval --data DIR --arm NAME` makes it")
    from evaluation.report import write  # noqa: PLC0415
    from evaluation.store import Store  # noqa: PLC0415

    report_file, page, *pictures = write(Store(results), out, baseline, full)
    print(f"{report_file}\n{page}")
    note(f"and {len(pictures)} pictures beside them")
