"""`sager dead-letters`: list refused records, and replay them."""

from functools import partial
from typing import Annotated

import typer

from streams.cli.options import AsJson, Bootstrap, Since, connected_settings, examples, moment_ms
from streams.cli.output import FAILED, ProgressBars, format_value, note, print_json, print_rows, printable

NEWEST = 20

Reason = Annotated[list[str] | None, typer.Option(help="With this reason; repeatable.", metavar="REASON")]
Stage = Annotated[list[str] | None, typer.Option(help="Refused by this stage; repeatable.", metavar="STAGE")]

app = typer.Typer()
group = typer.Typer(
    no_args_is_help=True,
    help="Look at refused records, and replay them.",
    epilog=examples("sager dead-letters list --since 24h"),
)
app.add_typer(group, name="dead-letters")


@group.command("list", epilog=examples("sager dead-letters list --since 24h --reason invalid --json"))
def list_(
    reason: Reason = None,
    stage: Stage = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(min=0, help="The number to print; all are counted.", metavar="N")] = NEWEST,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """List refused records, newest first, and count them by reason.

    `sager sql "FROM dead_letters"` has their bytes.
    """
    from streams.operations.dead_letters import LetterFilter, list_letters, summary  # noqa: PLC0415

    chosen = connected_settings(bootstrap)
    filters = LetterFilter(reasons=frozenset(reason or ()), stages=frozenset(stage or ()), since_ms=moment_ms(since))
    with ProgressBars() as progress:
        found = list_letters(chosen, filters, limit, partial(progress.update, "dead letters"))
    letters = [summary(each, each.letter.event_id in found.replayed) for each in found.newest]
    counts = {
        "total": found.total,
        "by_reason": dict(found.by_reason.most_common()),
        "replayed": len(found.replayed),
        "forgotten": found.forgotten,
    }
    if as_json:
        print_json({**counts, "letters": letters})
        return
    print_rows(letters, "dead letters", whole=["event id"])
    reasons = format_value(counts["by_reason"]) or "none"
    note(f"{found.total:,} in all: {reasons}; {len(found.replayed):,} of them replayed")
    if found.forgotten:
        note(f"{found.forgotten:,} more are of erased users: not shown and not replayed")


@group.command(epilog=examples("sager dead-letters replay --reason internal-error --since 7d --dry-run"))
def replay(
    event_ids: Annotated[list[str] | None, typer.Argument(help="Ids of dead letters.", metavar="[EVENT_ID]...")] = None,
    reason: Reason = None,
    stage: Stage = None,
    since: Since = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan, and send nothing.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Send the records of dead letters again to their partitions.

    A record that is refused again becomes a new dead letter. Do not replay the same letters twice at the same time.
    Exit code 1: some of the chosen letters cannot be replayed.
    """
    from streams.operations import dead_letters  # noqa: PLC0415

    if not (event_ids or reason or stage or since):
        raise typer.BadParameter("name dead letters by their ids, or select them, as with --reason internal-error")
    chosen = connected_settings(bootstrap)
    filters = dead_letters.LetterFilter(
        frozenset(event_ids or ()), frozenset(reason or ()), frozenset(stage or ()), moment_ms(since)
    )
    with ProgressBars() as progress:
        planned = dead_letters.plan(chosen, filters, progress.update)
        sent = 0 if dry_run else dead_letters.replay(chosen, planned, progress.update)
    if as_json:
        blocked = {name: why.value for name, why in planned.blocked.items()}
        print_json({"ready": list(planned.ready), "replayed": sent, "hindered": blocked, "unknown": planned.unknown})
    else:
        for name, found in planned.ready.items() if dry_run else ():
            source = found.letter.source
            print(printable(f"{name}  to {source.topic}/{source.partition}/{source.offset}"))
        print(f"{len(planned.ready):,} would be replayed" if dry_run else f"{sent:,} replayed")
        for name, why in planned.blocked.items():
            note(f"{name}: {why.value}")
        for name in planned.unknown:
            note(f"{name}: no such dead letter, or not selected")
    if planned.unknown or set(planned.blocked.values()) - {dead_letters.Blocker.DONE}:
        raise typer.Exit(FAILED)
