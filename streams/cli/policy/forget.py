"""`sager policy forget`: a line, a domain or the whole person, in all that workers and the materializer hold."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, Domain, User, examples, reachable, settings
from streams.cli.output import console, note, print_json, printable, row, table
from streams.cli.policy.change import WAIT_SECONDS, Actor, Wait, signed_in
from streams.cli.policy.confirm import DryRun, Yes, confirm
from streams.rights.doubt import doubt

if TYPE_CHECKING:
    from schemas import Receipt
    from streams.settings import Settings


def register(group: typer.Typer) -> None:
    """Add the verb."""
    group.command(
        "forget",
        epilog=examples(
            "sager policy forget ann --line preference:genre:noir --domain films",
            "sager policy forget ann --domain films",
            "sager policy forget ann --everything --dry-run",
            "sager policy forget ann --everything --yes",
        ),
    )(forget)


def forget(
    user: User,
    domain: Domain = None,
    line: Annotated[
        str | None, typer.Option(help="Only this line of the domain, by its id.", metavar="ATTRIBUTE")
    ] = None,
    everything: Annotated[bool, typer.Option(help="The whole person, in every domain.")] = False,
    actor: Actor = None,
    wait: Wait = WAIT_SECONDS,
    yes: Yes = False,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Forget a line, a domain, or the whole person. There is no way back.

    Asks first; scripts confirm with --yes. --dry-run counts what is held in every store. What happened until now is
    never learned from again. Events that apps sent stay on Kafka's topics until their retention has passed;
    docs/rights.md has the table. What remains is a receipt that says nothing of the person.
    """
    import uuid  # noqa: PLC0415
    from datetime import UTC, datetime  # noqa: PLC0415

    from streams.rights.commander import Commander  # noqa: PLC0415
    from streams.rights.holdings import look  # noqa: PLC0415
    from streams.rights.preview import forget_request, named  # noqa: PLC0415

    if line is not None and domain is None:
        raise typer.BadParameter("--line needs its --domain")
    if domain is None and not everything:
        raise typer.BadParameter("say --everything to forget the whole person, or a --domain")
    if domain is not None and everything:
        raise typer.BadParameter("--everything is every domain: leave out --domain, or --everything")
    chosen = reachable(settings(bootstrap=bootstrap))
    request = forget_request(user, domain, line, actor or signed_in(), uuid.uuid4().hex, datetime.now(UTC))
    if dry_run:
        _preview(chosen, user, domain, line, as_json)
        return
    doubtful = doubt(look(chosen, user, domain, line), chosen, domain, line)
    if doubtful and yes:
        note(doubtful)
    confirm(f"{doubtful} Forget {named(user, domain, line)}? There is no way back.".strip(), yes=yes)
    with Commander(chosen, user) as commander:
        receipt = commander.forget(request, wait)
    _tell(request, receipt, wait, as_json)


def _preview(chosen: "Settings", user: str, domain: str | None, line: str | None, as_json: bool) -> None:
    """Print how much each store holds of what would be forgotten."""
    from streams.cli.progress import Stages  # noqa: PLC0415
    from streams.rights.preview import goes  # noqa: PLC0415

    with Stages() as stages:
        found = goes(chosen, user, domain, line, lambda done, total: stages.at("topics", done, total))
    held = found.held
    if doubtful := doubt(held, chosen, domain, line):
        note(doubtful)
    if as_json:
        counts = {each.store: each.records for each in found.stores}
        print_json({"dry_run": True, "user_id": user, "domain": domain, "line": line, "held": counts,
                    "unread": held.unread})  # fmt: skip
        return
    print(printable(found.sentence))
    for group in found.groups:
        print(f"\n{group.title}")
        for item in group.items:
            print(printable(f"  - {item}"))
        if group.fate:
            print(f"  {group.fate}")
    print()
    made = table(
        "store", "records", "what happens", title=printable(f"held of {user}" + (f" in {domain}" if domain else ""))
    )
    for each in found.stores:
        row(made, [each.store, f"{each.records:,}", each.fate])
    console().print(made)
    if held.unread:
        note(f"not counted, because they cannot be read here: {', '.join(held.unread)}")
    note("nothing was forgotten")


def _tell(request: Any, receipt: "Receipt | None", wait: float, as_json: bool) -> None:
    if receipt is None:
        note(
            f"asked for as {request.event_id}; not waited for"
            if not wait
            else f"asked for as {request.event_id}; no worker has done it within {wait:g} s. It is kept and will be: "
            "`sager doctor` tells what the workers do"
        )
        raise typer.Exit(FAILED if wait else 0)
    if as_json:
        print_json(receipt.model_dump(mode="json"))
        return
    done = next(scope for scope in receipt.scopes if scope.event_id == request.event_id)
    print(f"forgotten until {done.until:%Y-%m-%d %H:%M:%S} UTC; versions removed or rewritten: {done.versions}")
    print(f"receipt {receipt.subject}")
