"""`sager policy export` and `sager policy import`: what is held about a person, for them to take with them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, Domain, User, examples, reachable, settings
from streams.cli.output import console, note, print_json, printable, row, table
from streams.cli.policy.change import WAIT_SECONDS, Actor, Reason, Wait, signed_in
from streams.cli.policy.confirm import Yes, confirm

if TYPE_CHECKING:
    from streams.rights.portable import Imported, Manifest


def register(group: typer.Typer) -> None:
    """Add the verbs."""
    group.command(
        "export", epilog=examples("sager policy export ann --to ann", "sager policy export ann --to ann --parquet")
    )(export)
    group.command(
        "import",
        epilog=examples("sager policy import ann", "sager policy import ann --as ann-2 --domain films --interactions"),
    )(import_)


def export(
    user: User,
    to: Annotated[Path, typer.Option(help="The folder to be.", metavar="DIR")],
    parquet: Annotated[bool, typer.Option("--parquet", help="DuckDB's rows as Parquet instead of JSON lines.")] = False,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Write everything held about a user into a folder.

    One JSON-lines file per topic, internal ones too, and one file per table of the newest DuckDB snapshot; of records
    that tell of others only the user's part. manifest.json tells what is in it, from when to when, and how long each
    topic keeps such. The folder is there as a whole or not at all, and only its owner can read it.
    """
    from streams.cli.progress import Stages  # noqa: PLC0415
    from streams.rights import portable  # noqa: PLC0415

    chosen = reachable(settings(bootstrap=bootstrap))
    with Stages() as stages:
        manifest = portable.export(chosen, user, to, stages.at, parquet=parquet)
    if as_json:
        print_json(manifest.model_dump(mode="json"))
    else:
        _show(manifest, to)
    if not manifest.topics and not manifest.tables:
        note(f"nothing is held about {user!r} in the deployment {chosen.prefix!r}: is the id right?")
    elif manifest.snapshot_at is None:
        note(f"there is no DuckDB snapshot {chosen.duckdb_file}: what only it still has is not in the export")


def import_(
    folder: Annotated[Path, typer.Argument(help="A folder of `sager policy export`.", metavar="DIR")],
    as_user: Annotated[
        str | None, typer.Option("--as", help="Who is to have it here. [default: as exported]", metavar="USER")
    ] = None,
    domain: Domain = None,
    interactions: Annotated[
        bool, typer.Option("--interactions", help="Send the past interactions too, which the prior counts.")
    ] = False,
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Import an exported policy.

    One command per domain gives the skill the exported lines. Asks before it replaces the lines of a skill that is
    there; they stay in its log. What the person said for good is said again. Every line of the folder is checked before
    anything is sent. What is personal or sensitive here is left out, and a skill has no more lines here than others
    have.
    """
    from streams.cli.progress import Stages  # noqa: PLC0415
    from streams.rights import portable  # noqa: PLC0415
    from streams.rights.preview import comes  # noqa: PLC0415

    with Stages() as stages:
        bundle = portable.load(folder, stages.at)
    chosen = reachable(settings(bootstrap=bootstrap))
    user = as_user or bundle.manifest.user_id
    order = portable.Order(actor or signed_in(), reason)
    replaced = comes(chosen, bundle, user, order.at, domain=domain).replaced
    if replaced:
        confirm(f"{user} has a skill in {', '.join(replaced)}: replace its lines with the exported ones?", yes=yes)
    done = portable.take_in(chosen, bundle, user, order, wait, domain=domain, interactions=interactions)
    if as_json:
        diffs = {name: diff and diff.model_dump(mode="json") for name, diff in done.diffs.items()}
        print_json(
            {
                "user_id": user,
                "interactions": done.interactions,
                "statements": done.statements,
                "lines": done.lines,
                "diffs": diffs,
            }
        )
    else:
        _tell(user, done)
    if wait and None in done.diffs.values():
        note(f"no worker of {chosen.app_id} has carried all out within {wait:g} s. It is kept and will be")
        raise typer.Exit(FAILED)


def _show(manifest: "Manifest", to: Path) -> None:
    made = table("what", "records", "from", "to", "kept", "", title=printable(f"{manifest.user_id}: {to}"))
    for base, each in manifest.topics.items():
        spans = [f"{moment:%Y-%m-%d %H:%M}" if moment else "" for moment in (each.first, each.last)]
        kept = f"{each.kept_days:g} days" if each.kept_days is not None else "newest per key"
        row(made, [f"topics/{base}", f"{each.records:,}", *spans, kept, each.note])
    for name, rows in manifest.tables.items():
        row(made, [f"tables/{name}", f"{rows.records:,}"])
    console().print(made)


def _tell(user: str, done: "Imported") -> None:
    if done.interactions:
        print(f"{done.interactions:,} interactions sent")
    if done.lines:
        print(f"{done.lines:,} {'change' if done.lines == 1 else 'changes'} of the card")
    if done.statements:
        print(f"{done.statements:,} {'statement' if done.statements == 1 else 'statements'} said again")
    for domain, diff in done.diffs.items():
        if diff is None:
            print(printable(f"{user} · {domain}: sent"))
            continue
        restored = sum(change.after is not None for change in diff.changes)
        gone = len(diff.changes) - restored
        refused = f", {len(diff.refused)} refused" if diff.refused else ""
        print(printable(f"{user} · {domain}: version {diff.version}, {restored} lines in, {gone} out{refused}"))
