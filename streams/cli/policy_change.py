"""`sager policy add`, `reword`, `remove`, `set-tier`, `pin`, `freeze`, `roll-back` ...: what a person may change."""

import getpass
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, User, examples, reachable, settings
from streams.cli.output import note, print_json, printable
from streams.cli.policy_reading import NoSuchVersion
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from schemas import SkillDiff
    from streams.settings import Settings

InDomain = Annotated[str, typer.Option("--domain", help="The domain of the skill, such as films.", metavar="DOMAIN")]
Line = Annotated[str, typer.Argument(help="The line's id, as `policy show --json` has it.", metavar="ATTRIBUTE")]
Actor = Annotated[
    str | None, typer.Option(help="Who changes it, for the log. [default: who is signed in]", metavar="NAME")
]
Reason = Annotated[str, typer.Option(help="Why, for the log.")]
Wait = Annotated[float, typer.Option(help="Seconds to wait for a worker; 0: do not.", min=0.0, metavar="SECONDS")]
AtTier = Annotated[str, typer.Argument(help="low, medium or high.", metavar="TIER")]
WAIT_SECONDS = 30.0


def register(group: typer.Typer) -> None:
    """Add the verbs that change a skill."""
    shown: dict[str, tuple[Callable[..., None], str]] = {
        "add": (add, 'sager policy add ann genre "film noir" --domain films --reason "said so"'),
        "reword": (reword, 'sager policy reword ann preference:genre:noir "film noir" --domain films'),
        "remove": (remove, "sager policy remove ann preference:genre:noir --domain films"),
        "set-tier": (set_tier, "sager policy set-tier ann preference:genre:noir high --domain films"),
        "pin": (pin, "sager policy pin ann preference:genre:noir --domain films"),
        "unpin": (unpin, "sager policy unpin ann preference:genre:noir --domain films"),
        "freeze": (freeze, "sager policy freeze ann --domain films --reason holidays"),
        "unfreeze": (unfreeze, "sager policy unfreeze ann --domain films"),
        "roll-back": (roll_back, "sager policy roll-back ann 3 --domain films"),
    }
    for verb, (command, example) in shown.items():
        group.command(verb, epilog=examples(example))(command)


def add(
    user: User,
    dimension: Annotated[str, typer.Argument(help="What it is about, such as genre.", metavar="DIMENSION")],
    value: Annotated[str, typer.Argument(help="What draws them, in a few words.", metavar="VALUE")],
    domain: InDomain,
    tier: Annotated[str, typer.Option(help="low, medium or high.")] = "high",
    kind: Annotated[str, typer.Option(help="preference, pattern or criterion.")] = "preference",
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Add a line that the person states."""
    line = {"kind": kind, "dimension": dimension, "value": value, "tier": tier}
    _carry_out(user, domain, "add", actor, reason, wait, bootstrap, as_json, line=line)


def reword(
    user: User,
    attribute: Line,
    value: Annotated[str, typer.Argument(help="What the line is to say.", metavar="VALUE")],
    domain: InDomain,
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Say a line in other words; it keeps its tier and its evidence."""
    _carry_out(user, domain, "reword", actor, reason, wait, bootstrap, as_json, attribute_id=attribute, value=value)


def remove(
    user: User,
    attribute: Line,
    domain: InDomain,
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Take a line out. Later choices may bring it back."""
    _carry_out(user, domain, "remove", actor, reason, wait, bootstrap, as_json, attribute_id=attribute)


def set_tier(
    user: User,
    attribute: Line,
    tier: AtTier,
    domain: InDomain,
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Say how sure to be of a line."""
    _carry_out(user, domain, "set-tier", actor, reason, wait, bootstrap, as_json, attribute_id=attribute, tier=tier)


def pin(
    user: User,
    attribute: Line,
    domain: InDomain,
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Keep a line: it is never weakened and never pushed out."""
    _carry_out(user, domain, "pin", actor, reason, wait, bootstrap, as_json, attribute_id=attribute)


def unpin(
    user: User,
    attribute: Line,
    domain: InDomain,
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Let a line go its way again."""
    _carry_out(user, domain, "unpin", actor, reason, wait, bootstrap, as_json, attribute_id=attribute)


def freeze(
    user: User,
    domain: InDomain,
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Stop a skill from learning. What is chosen meanwhile is not made up for later."""
    _carry_out(user, domain, "freeze", actor, reason, wait, bootstrap, as_json)


def unfreeze(
    user: User,
    domain: InDomain,
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Let a skill learn again."""
    _carry_out(user, domain, "unfreeze", actor, reason, wait, bootstrap, as_json)


def roll_back(
    user: User,
    version: Annotated[int, typer.Argument(help="The version to go back to; 0: the seed.", min=0, metavar="VERSION")],
    domain: InDomain,
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Go back to the lines of an earlier version: as a new version, with all that was between in the log."""
    from operators.history import at_version  # noqa: PLC0415
    from streams.materializer import read  # noqa: PLC0415

    with read.connect(settings(bootstrap=bootstrap)) as con:
        then = at_version(read.diffs(con, user, domain), version)
    if then is None:
        raise NoSuchVersion(f"{user!r} has no version {version} in {domain!r}: `sager policy log {user}` has them all")
    _carry_out(
        user, domain, "roll-back", actor, reason, wait, bootstrap, as_json, to_version=version, lines=then.attributes
    )


def _carry_out(
    user: str,
    domain: str,
    action: str,
    actor: str | None,
    reason: str,
    wait: float,
    bootstrap: str | None,
    as_json: bool,
    **about: Any,
) -> None:
    """Send a command, wait for what comes of it, and tell."""
    import uuid  # noqa: PLC0415
    from datetime import UTC, datetime  # noqa: PLC0415

    from schemas import SkillCommand  # noqa: PLC0415
    from streams.commanding import Commander  # noqa: PLC0415

    chosen = reachable(settings(bootstrap=bootstrap))
    command = SkillCommand.model_validate(
        {
            "event_id": uuid.uuid4().hex,
            "occurred_at": datetime.now(UTC),
            "user_id": user,
            "domain": domain,
            "action": action,
            "actor": actor or signed_in(),
            "reason": reason,
            **about,
        }
    )
    with Commander(chosen, user) as commander:
        diff = commander.carry_out(command, wait)
    _tell(command.event_id, diff, chosen, wait, as_json)


def signed_in() -> str:
    """Who is signed in on this machine: the actor where none is named.

    Raises:
        StreamsError: nobody is.
    """
    try:
        return getpass.getuser()
    except (OSError, KeyError) as error:  # a container's user may have no name
        raise StreamsError("nobody is signed in here: say with --actor who changes the skill") from error


def _tell(event_id: str, diff: "SkillDiff | None", chosen: "Settings", wait: float, as_json: bool) -> None:
    from streams.cli.policy_log import change_of  # noqa: PLC0415

    if diff is None:
        note(
            f"sent as {event_id}; not waited for"
            if not wait
            else f"sent as {event_id}; no worker of {chosen.app_id} has carried it out within {wait:g} s. It is kept "
            "and will be: `sager doctor` tells what the workers do"
        )
        raise typer.Exit(FAILED if wait else 0)
    if as_json:
        print_json(diff.model_dump(mode="json"))
    else:
        for change in diff.changes:
            print(printable(change_of(change)))
        if diff.frozen is not None:
            print("frozen" if diff.frozen else "learns again")
        print(f"version {diff.version}")
    for refused in diff.refused:
        note(f"refused: {refused.attribute_id}: {refused.why.value}")
    if diff.refused:
        raise typer.Exit(FAILED)
