"""`sager policy export`, `import` and `forget`: move or erase a person's data."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from streams import permissions
from streams.cli.options import AsJson, Bootstrap, Domain, User, connected_settings, examples
from streams.cli.output import FAILED, ProgressBars, note, print_fields, print_json, print_rows, printable
from streams.cli.policy import (
    WAIT_SECONDS,
    Actor,
    Reason,
    Wait,
    Yes,
    confirm,
    current_user,
    exit_unanswered,
    group,
    name_warning,
)

if TYPE_CHECKING:
    from schemas import SkillDiff
    from streams.settings import Settings


@group.command(epilog=examples("sager policy export ann --to ann.jsonl.gz"))
def export(
    user: User,
    to: Annotated[Path, typer.Option(help="The new file, such as ann.jsonl.gz.", metavar="FILE")],
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Write all data about a user to a private file.

    The file has gzipped JSON lines: the records of all topics, including internal ones, and the rows of the newest
    DuckDB snapshot. Records about several users are reduced to this user's part. A failed export leaves no file.
    """
    from streams.rights import exporting  # noqa: PLC0415

    chosen = connected_settings(bootstrap)
    with new_file(to) as out, ProgressBars() as progress:
        done = exporting.export(chosen, user, out, progress.update)
    if as_json:
        print_json({"user_id": user, **vars(done)})
    else:
        counted = [(f"topic {name}", count) for name, count in done.topics.items()]
        counted += [(f"table {name}", count) for name, count in done.tables.items()]
        print_rows([{"what": name, "records": count} for name, count in counted], f"{user}: {to}")
    if not done.topics and not done.tables:
        note(f"the deployment {chosen.prefix!r} has no data about {user!r}: is the id correct?")
    elif done.snapshot_at is None:
        note(f"there is no DuckDB snapshot {chosen.duckdb_file}: the export has no rows of tables")


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """Open a new private file; a failure removes it."""
    permissions.make_private(path.absolute().parent)
    path.touch(0o600, exist_ok=False)
    try:
        with path.open("wb") as out:
            yield out
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@group.command(
    "import",
    epilog=examples("sager policy import ann.jsonl.gz", "sager policy import ann.jsonl.gz --as ann-2 --domain films"),
)
def import_(
    file: Annotated[Path, typer.Argument(help="A file of `sager policy export`.", metavar="FILE")],
    as_user: Annotated[str | None, typer.Option("--as", help="For this user. [as exported]", metavar="USER")] = None,
    domain: Domain = None,
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Import an exported policy.

    Sends one command per domain with the exported lines, the lasting statements and the card, after checking the whole
    file. Asks before it replaces the lines of an existing skill; they stay in its log. Workers drop personal and
    sensitive words, and apply their own limit of lines.
    """
    from streams.rights import importing  # noqa: PLC0415
    from streams.rights.previews import skills  # noqa: PLC0415

    with file.open("rb") as source:
        bundle = importing.load(source)
    chosen = connected_settings(bootstrap)
    user = as_user or bundle.header.user_id
    order = importing.ImportOrder(actor or current_user(), reason)
    known = skills(chosen, user)
    replaced = [skill.domain for skill in bundle.chosen(domain) if known.skill(skill.domain) is not None]
    if replaced:
        confirm(f"{user} has a skill in {', '.join(replaced)}: replace its lines with the exported ones?", yes=yes)
    done = importing.import_bundle(chosen, bundle, user, order, wait, domain=domain)
    rows = [_imported(name, diff) for name, diff in done.diffs.items()]
    if as_json:
        print_json({"user_id": user, "statements": done.statements, "lines": done.lines, "skills": rows})
    else:
        sent = {"changes of the card": done.lines, "statements": done.statements}
        print_fields({f"{kind} sent": count for kind, count in sent.items() if count})
        print_rows(rows, user)
    if wait and None in done.diffs.values():
        note(f"no worker of {chosen.app_id} has applied everything within {wait:g} s. Workers will apply it later")
        raise typer.Exit(FAILED)


def _imported(domain: str, diff: "SkillDiff | None") -> dict[str, Any]:
    """Return the counts of an imported skill; without a version if not applied."""
    changes, refused = ((), ()) if diff is None else (diff.changes, diff.refused)
    lines_in = sum(change.after is not None for change in changes)
    counts = {"lines_in": lines_in, "lines_out": len(changes) - lines_in, "refused": len(refused)}
    return {"domain": domain, "version": diff and diff.version, **counts}


@group.command(
    epilog=examples("sager policy forget ann --domain films", "sager policy forget ann --everything --dry-run")
)
def forget(
    user: User,
    domain: Domain = None,
    line: Annotated[str | None, typer.Option(help="Only this line, by its id.", metavar="ATTRIBUTE")] = None,
    everything: Annotated[bool, typer.Option(help="The whole person, in every domain.")] = False,
    actor: Actor = None,
    wait: Wait = WAIT_SECONDS,
    yes: Yes = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count the records in every store.")] = False,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Erase a line, a domain, or all data about a person.

    This cannot be undone. Asks for confirmation; scripts confirm with --yes. --dry-run counts the records in every
    store. Workers ignore all events up to now. Events of apps stay on Kafka's topics until their retention has passed:
    docs/rights.md lists them. A receipt without the name remains.
    """
    from streams.rights.commands import CommandClient  # noqa: PLC0415
    from streams.rights.previews import describe_scope, find_data, forget_request  # noqa: PLC0415

    if line is not None and domain is None:
        raise typer.BadParameter("--line needs its --domain")
    if (domain is None) is not everything:
        raise typer.BadParameter("give either --everything, to erase the whole person, or a --domain")
    chosen = connected_settings(bootstrap)
    request = forget_request(user, domain, line, actor or current_user(), uuid.uuid4().hex, datetime.now(UTC))
    if dry_run:
        _preview(chosen, user, domain, line, as_json)
        return
    warning = name_warning(find_data(chosen, user, domain, line), domain, line)
    if warning and yes:
        note(warning)
    confirm(f"{warning} Erase {describe_scope(user, domain, line)}? This cannot be undone.".strip(), yes=yes)
    with CommandClient(chosen, user) as client:
        receipt = client.forget(request, wait)
    if receipt is None:
        exit_unanswered(request.event_id, wait)
    if as_json:
        print_json(receipt.model_dump(mode="json"))
        return
    done = next(scope for scope in receipt.scopes if scope.event_id == request.event_id)
    print(f"erased up to {done.until:%Y-%m-%d %H:%M:%S} UTC; versions removed or rewritten: {done.versions}")
    print(f"receipt {receipt.subject}")


def _preview(chosen: "Settings", user: str, domain: str | None, line: str | None, as_json: bool) -> None:
    """Print the number of records that would be erased, by store."""
    from streams.rights.previews import preview_erasure  # noqa: PLC0415

    with ProgressBars() as progress:
        found = preview_erasure(chosen, user, domain, line, lambda done, total: progress.update("topics", done, total))
    inventory = found.inventory
    if warning := name_warning(inventory, domain, line):
        note(warning)
    if as_json:
        counts = {each.store: each.records for each in found.stores}
        scope = {"user_id": user, "domain": domain, "line": line}
        print_json({"dry_run": True, **scope, "held": counts, "unread": inventory.unread})
        return
    print(printable(found.sentence))
    print(found.stays)
    print_rows([dict(each) for each in found.stores], f"data about {user}")
    if inventory.unread:
        note(f"not counted, because they cannot be read here: {', '.join(inventory.unread)}")
    note("dry run: nothing was erased")
