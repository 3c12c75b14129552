"""`sager policy verify`: finds edited and removed records."""

from typing import Annotated

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, Domain, connected, examples
from streams.cli.output import note, print_json, print_rows
from streams.cli.progress import Stages


def register(group: typer.Typer) -> None:
    """Add the verb."""
    group.command("verify", epilog=examples("sager policy verify ann", "sager policy verify --json"))(verify)


def verify(
    user: Annotated[str | None, typer.Argument(help="The user. [default: all users]", metavar="[USER]")] = None,
    domain: Domain = None,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Verify that nothing was edited or left out.

    Each record is checked by its seal, each skill and card by folding its log. SAGER_CHAIN_KEY must be the workers'
    key. Workers may keep running. DuckDB is not read: `sager rebuild --duckdb` makes a file in doubt again. Exit code
    1: something is not as it was written.
    """
    from streams.rights import verify as verifying  # noqa: PLC0415

    chosen = connected(bootstrap)
    with Stages() as stages:
        done = verifying.verify(chosen, user, domain, stages.at)
    findings = [vars(each) for each in done.findings]
    if as_json:
        print_json({"fine": not done.found, **vars(done), "findings": findings})
    else:
        print_rows(findings)
        print(
            f"{done.skills:,} skills of {done.users:,} users, {done.versions:,} versions, {done.receipts:,} receipts "
            f"verified; {done.cards:,} cards, {done.forgotten:,} forgotten"
        )
        print(f"{done.found:,} findings" if done.found else "nothing was edited or left out")
        if chosen.chain_key is None:
            note("SAGER_CHAIN_KEY is not set: any writer of the topics can make new seals without a key")
        if done.users and len({each.user_id for each in done.findings if each.kind == "log-forged"}) == done.users:
            note("no log has the right seal: is SAGER_CHAIN_KEY the key of the workers that wrote them?")
        if any(each.kind.startswith("slim-") for each in done.findings):
            note(
                "apps keep a forged slim skill until its key gets a tombstone: stop the workers and run "
                "`sager rebuild --apply`, which writes that, and then the right one"
            )
    if done.found:
        raise typer.Exit(FAILED)
