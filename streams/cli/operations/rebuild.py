"""`sager rebuild`: all skills from the log of diffs alone."""

from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, examples, reachable, settings
from streams.cli.output import console, note, print_json, row, table
from streams.cli.policy.common import Yes, confirm

if TYPE_CHECKING:
    from streams.operations.rebuild import Report
    from streams.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "rebuild",
        short_help="Fold all skills from the log, and compare.",
        epilog=examples("sager rebuild", "sager rebuild --apply", "sager rebuild --duckdb"),
    )(rebuild)


def rebuild(
    apply: Annotated[bool, typer.Option("--apply", help="Write folded skills where they differ.")] = False,
    duckdb: Annotated[bool, typer.Option("--duckdb", help="Make a new DuckDB file from the topics instead.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Fold every skill from the log alone, without an LLM, and compare with the topic skills byte for byte.

    Workers may keep running, except with --apply, which writes to the topics skills and slim-skills, and takes
    pseudonyms of an earlier secret out of items. Skills with a broken or missing log are left alone. SAGER_CHAIN_KEY
    has to be the workers'. Memory: about 75 kB per skill of the largest partition.

    With --duckdb nothing is compared: the live DuckDB file is removed, and `sager materialize` fills a new one.

    Exit code 1: the log and the topics differ, even if --apply has repaired them.
    """
    from streams.cli.progress import Stages  # noqa: PLC0415
    from streams.operations import rebuild as rebuilding  # noqa: PLC0415

    if duckdb:
        _remove_live_file(settings(bootstrap=bootstrap), yes=yes)
        return
    chosen = reachable(settings(bootstrap=bootstrap))
    with Stages() as stages:
        report = rebuilding.rebuild(chosen, stages.at, apply=apply)
    if as_json:
        names = {finding: finding.name.lower().replace("_", "-") for finding in rebuilding.Finding}
        counts = {names[finding]: count for finding, count in report.counts.items()}
        cases = [{**vars(each), "finding": names[each.finding]} for each in report.examples]
        print_json({**vars(report), "fine": report.is_fine, "counts": counts, "examples": cases})
    else:
        _show(report)
        if not report.is_fine:
            note(_advice(report, apply))
    if not report.is_fine:
        raise typer.Exit(FAILED)


def _remove_live_file(chosen: "Settings", *, yes: bool) -> None:
    from streams.materializer.recovery import live_file, remove  # noqa: PLC0415

    path = live_file(chosen)
    if not path.exists():
        note(f"there is no {path}: `sager materialize` makes one")
        return
    confirm(f"Remove {path}? Rows that are older than what the topics keep are lost.", yes=yes)
    remove(chosen)
    note(f"{path} is removed: `sager materialize` fills a new one from the topics")


def _show(report: "Report") -> None:
    print(f"{report.skills:,} skills folded from {report.diffs:,} diffs")
    made = table("finding", "count")
    for finding, count in report.counts.items():
        if count or finding.name == "EQUAL":
            row(made, [finding.value, f"{count:,}"], None if finding.is_fine else "bold")
    console().print(made)
    if report.examples:
        cases = table("finding", "user", "domain", "detail", title="examples")
        for each in report.examples:
            row(cases, [each.finding.value, each.user_id, each.domain, each.detail])
        console().print(cases)
    if report.written:
        note(f"{report.written:,} records were written")
    if report.rotated:
        note(f"{report.rotated:,} items lost takers under pseudonyms of another secret, or of none")


def _advice(report: "Report", apply: bool) -> str:
    from streams.operations.rebuild import Finding  # noqa: PLC0415

    mendable = (Finding.DIFFERS, Finding.MISSING, Finding.SLIM_AHEAD, Finding.SLIM_FORGED, Finding.SLIM_UNSEALED)
    if not any(report.counts[finding] for finding in mendable):
        return "a gap or a second diff in the log itself cannot be repaired from it: see docs/operating.md"
    if apply:
        return "differing records were rewritten; run `sager rebuild` again to confirm that everything is equal"
    return "stop the workers and run `sager rebuild --apply`: it writes the folded skills in their place"
