"""`sager policy say`: what a person says about their taste, in their own words."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, User, examples, reachable, settings
from streams.cli.output import note, print_json, printable
from streams.cli.policy.change import WAIT_SECONDS, InDomain, Wait
from streams.cli.policy.confirm import Yes, confirm
from streams.rights.doubt import doubt

if TYPE_CHECKING:
    from schemas import Correction, SkillDiff
    from streams.settings import Settings


class ScopeName(StrEnum):
    """For how long something is meant."""

    NOW = "now"
    SESSION = "session"
    ALWAYS = "always"


def register(group: typer.Typer) -> None:
    """Add the verb."""
    group.command(
        "say",
        epilog=examples(
            'sager policy say ann "no horror, please" --domain films',
            'sager policy say ann "heute keine Krimis" --domain films --language de',
        ),
    )(say)


def say(
    user: User,
    domain: InDomain,
    words: Annotated[str, typer.Argument(help="What the person says, in their own words.", metavar="WORDS")],
    scope: Annotated[
        ScopeName | None,
        typer.Option(
            help="For how long it is meant. [default: what the words say, else always]", metavar="now|session|always"
        ),
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="Such as de. [default: told by the words]", metavar="TAG")
    ] = None,
    session: Annotated[str | None, typer.Option(help="The session that it is said in.", metavar="ID")] = None,
    wait: Wait = WAIT_SECONDS,
    yes: Yes = False,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Say what a person wants or does not want, in their own words.

    A worker reads the words, and the next ranking of that person goes by them. What was understood is printed, with the
    ids of the statements: `policy remove` takes one back. Words that are not understood are kept in the log and change
    nothing; then the reason and an example are printed, and the exit code is 1.
    """  # fmt: skip
    import uuid  # noqa: PLC0415
    from datetime import UTC, datetime  # noqa: PLC0415

    from schemas import Correction  # noqa: PLC0415
    from streams.rights.commander import Commander  # noqa: PLC0415
    from streams.rights.holdings import look  # noqa: PLC0415

    if scope is ScopeName.SESSION and session is None:
        raise typer.BadParameter("--scope session needs its --session")
    chosen = reachable(settings(bootstrap=bootstrap))
    correction = Correction.model_validate(
        {
            "event_id": uuid.uuid4().hex,
            "occurred_at": datetime.now(UTC),
            "user_id": user,
            "domain": domain,
            "text": words,
            "scope": scope,
            "language": language,
            "session_id": session,
        }
    )
    if doubtful := doubt(look(chosen, user, domain), chosen, domain):
        confirm(f"{doubtful} This would start a new skill. Go on?", yes=yes)
    with Commander(chosen, user) as commander:
        diff = commander.carry_out(correction, wait)
    _tell(correction, diff, chosen, wait, as_json)


def _tell(correction: "Correction", diff: "SkillDiff | None", chosen: "Settings", wait: float, as_json: bool) -> None:
    if diff is None:
        note(
            f"sent as {correction.event_id}; not waited for"
            if not wait
            else f"sent as {correction.event_id}; no worker of {chosen.app_id} has answered within {wait:g} s. "
            "It is kept and will be heard: `sager doctor` shows what the workers do"
        )
        raise typer.Exit(FAILED if wait else 0)
    if as_json:
        print_json(diff.model_dump(mode="json"))
    heard = diff.heard
    if heard is not None and not heard.understood:
        code = f" ({heard.why.value})" if heard.why is not None else ""
        note(f"not understood{code}: it changes nothing. {heard.explanation}")
        raise typer.Exit(FAILED)
    if not as_json:
        _print(diff)
    if heard is not None and heard.explanation:
        note(heard.explanation)
    for refused in diff.refused:
        note(f"refused: {refused.attribute_id}: {refused.why.value}")
    if diff.refused and not diff.stated and not diff.changes:
        raise typer.Exit(FAILED)


def _print(diff: "SkillDiff") -> None:
    from streams.cli.policy.said import changed  # noqa: PLC0415
    from streams.rights.changes import change_of  # noqa: PLC0415

    for change in diff.stated:
        print(printable(changed(change, {})))
    for line in diff.changes:
        print(printable(change_of(line)))
    if not diff.stated and not diff.changes:
        print("understood, and nothing changed")
    print(f"version {diff.version}")
