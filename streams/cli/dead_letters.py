"""`sager dead-letters`: replay refused records."""

from typing import Annotated

import typer

from streams.cli.options import AsJson, Bootstrap, Since, connected_settings, examples, moment_ms
from streams.cli.output import FAILED, ProgressBars, note, print_json, printable

Reason = Annotated[list[str] | None, typer.Option(help="With this reason; repeatable.", metavar="REASON")]
Stage = Annotated[list[str] | None, typer.Option(help="Refused by this stage; repeatable.", metavar="STAGE")]

app = typer.Typer()
group = typer.Typer(
    no_args_is_help=True,
    help="Replay refused records; `sager sql` lists them.",
    epilog=examples('sager sql "FROM dead_letters"', "sager dead-letters replay --reason internal-error --since 7d"),
)
app.add_typer(group, name="dead-letters")


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
