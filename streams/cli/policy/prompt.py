"""`sager policy prompt`: what a model was told before it answered."""

from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, User, examples, reachable, settings
from streams.cli.output import note, print_json
from streams.cli.policy.log import InDomain
from streams.cli.policy.reading import snapshot
from streams.rights.reading import NoSuchVersion, logged

if TYPE_CHECKING:
    from operators.evolve.again import Again
    from schemas import SkillDiff

Made = Annotated[int, typer.Argument(min=1, help="The version that the model's answer led to.", metavar="VERSION")]


def register(group: typer.Typer) -> None:
    """Add the verb."""
    group.command(
        "prompt",
        epilog=examples("sager policy prompt ann 7 --domain films", "sager policy prompt ann 7 --domain films --json"),
    )(prompt)


def prompt(user: User, version: Made, domain: InDomain, bootstrap: Bootstrap = None, as_json: AsJson = False) -> None:
    """Print the prompt that led to a version, put together again.

    Prompts are not kept, only their hashes. The log has the skill that it was about, Kafka the choice, for as long as
    it keeps choices. What is put together from both is compared with the hash of what was sent. Exit code 1: it is not
    the same, or cannot be had any more.
    """
    from streams.materializer import read  # noqa: PLC0415
    from streams.operations.prompts import prompt_of  # noqa: PLC0415

    with snapshot() as con:
        diffs = logged(con, user, domain)
        receipt = read.receipt(con, user)
    if version > diffs[-1].version:
        raise NoSuchVersion(
            f"{user!r} has no version {version} in {domain!r}: the newest is {diffs[-1].version}. "
            f"`sager policy log {user}` has them all"
        )
    found = prompt_of(reachable(settings(bootstrap=bootstrap)), diffs, version, receipt)
    if as_json:
        print_json(
            {
                "prompt": found.prompt,
                "schema": found.schema,
                "prompt_hash": found.hash,
                "recorded_hash": found.recorded,
                "is_same": found.is_same,
                "skill_version": found.skill_version,
            }
        )
    else:
        # As it is, for a file or a pipe: it was made fit for a prompt, and so it is for a terminal.
        print(found.prompt, end="")
    if found.is_same:
        note(f"this is what was sent, about version {found.skill_version}: the log has the same hash, {found.hash}")
        return
    note(f"this is not what was sent: its hash is {found.hash}, the log has {found.recorded}. {_why(found, diffs)}")
    raise typer.Exit(FAILED)


def _why(found: "Again", diffs: "list[SkillDiff]") -> str:
    """What may have changed since."""
    if any(diff.rewritten for diff in diffs):
        return "A line was forgotten since, and prompts about it went with it"
    return (
        "It depends on SAGER_VOUCHED, SAGER_SENSITIVE and SAGER_PRIVACY too: were they others then, or is it another "
        "release?"
    )
