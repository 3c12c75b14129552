"""`sager policy verify`: whether logs and skills are what was written."""

from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, Domain, examples, reachable, settings
from streams.cli.output import console, note, print_json, row, table

if TYPE_CHECKING:
    from streams.rights.verify import Verified


def register(group: typer.Typer) -> None:
    """Add the verb."""
    group.command("verify", epilog=examples("sager policy verify ann", "sager policy verify --json"))(verify)


def verify(
    user: Annotated[
        str | None, typer.Argument(help="The user, as the app names them. [default: all users]", metavar="[USER]")
    ] = None,
    domain: Domain = None,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Verify that nothing was edited or left out.

    Every version is checked by its seal, every skill by folding its log. Reads the topics skill-diffs and skills,
    and compares what the newest DuckDB snapshot has of them, byte for byte. SAGER_CHAIN_KEY has to be the workers'.
    Somebody who was forgotten has a receipt instead of a log. Workers may go on meanwhile.

    Exit code 1: something is not as it was written.
    """
    from streams.cli.progress import Stages  # noqa: PLC0415
    from streams.rights import verify as verifying  # noqa: PLC0415

    chosen = reachable(settings(bootstrap=bootstrap))
    with Stages() as stages:
        done = verifying.verify(chosen, user, domain, stages.at)
    if as_json:
        print_json(
            {
                "fine": not done.found,
                "users": done.users,
                "skills": done.skills,
                "versions": done.versions,
                "compared_in_duckdb": done.copies,
                "forgotten": done.forgotten,
                "found": done.found,
                "findings": [vars(each) for each in done.findings],
            }
        )
    else:
        _show(done)
        if chosen.chain_key is None:
            note("SAGER_CHAIN_KEY is not set: whoever may write to the topics can make seals without a key anew")
    if done.found:
        raise typer.Exit(FAILED)


def _show(done: "Verified") -> None:
    if done.found:
        made = table("user", "domain", "what")
        for each in done.findings:
            row(made, [each.user_id, each.domain, each.what])
        console().print(made)
    copies = (
        "there is no DuckDB snapshot here" if done.copies is None else f"{done.copies:,} documents in DuckDB compared"
    )
    print(
        f"{done.skills:,} skills of {done.users:,} users, {done.versions:,} versions verified; {copies}"
        + (f"; {done.forgotten:,} forgotten" if done.forgotten else "")
    )
    print(f"{done.found:,} findings" if done.found else "nothing was edited or left out")
