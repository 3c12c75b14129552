"""`sager card set`, `pin`, `unpin` and `remove`: what a person may change on their card."""

import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, User, examples, reachable, settings
from streams.cli.output import note, print_json, printable
from streams.cli.policy.change import WAIT_SECONDS, Wait, signed_in
from streams.cli.policy.confirm import DryRun, Yes, confirm

if TYPE_CHECKING:
    from schemas import Card, CardDiff
    from streams.settings import Settings

CardLineId = Annotated[str, typer.Argument(help="The line's id, as `card show` prints it.", metavar="LINE")]

Actor = Annotated[
    str | None,
    typer.Option(help="Who changes it; stays in the command. [default: who is signed in]", metavar="NAME"),
]
Reason = Annotated[str, typer.Option(help="Why; stays in the command: the card and its log do not tell it.")]


def register(group: typer.Typer) -> None:
    """Add the verbs."""
    group.command(
        "set",
        epilog=examples(
            "sager card set ann coriander --avoids",
            'sager card set ann "evening runs" --in-place-of prefers:stated:morning-runs',
        ),
    )(set_)
    group.command("pin", epilog=examples("sager card pin ann prefers:stated:vegetarian-food"))(pin)
    group.command("unpin", epilog=examples("sager card unpin ann prefers:stated:vegetarian-food"))(unpin)
    group.command("remove", epilog=examples("sager card remove ann avoids:stated:coriander"))(remove)


def set_(
    user: User,
    value: Annotated[str, typer.Argument(help="What they like, in a few words.", metavar="VALUE")],
    avoids: Annotated[bool, typer.Option("--avoids", help="They do not like it.")] = False,
    dimension: Annotated[str, typer.Option(help="What it is about, of the domain's vocabulary.")] = "stated",
    domain: Annotated[str | None, typer.Option(help="Where it holds, such as films. [default: anywhere]")] = None,
    in_place_of: Annotated[str | None, typer.Option(help="The line whose place it takes.", metavar="LINE")] = None,
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Write a line on a card.

    A line that a command wrote does not fade, and gives way to plain words alone.
    """
    stance = "avoids" if avoids else "prefers"
    line = {"stance": stance, "dimension": dimension, "value": value, "domain": domain}
    _change(
        user,
        "set",
        {"line": line, "line_id": in_place_of},
        (actor, reason, wait),
        bootstrap=bootstrap,
        dry_run=dry_run,
        as_json=as_json,
    )


def pin(
    user: User,
    line: CardLineId,
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Keep a line: it does not fade."""
    _change(user, "pin", {"line_id": line}, (actor, reason, wait), bootstrap=bootstrap, as_json=as_json)


def unpin(
    user: User,
    line: CardLineId,
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Let a line change again."""
    _change(user, "unpin", {"line_id": line}, (actor, reason, wait), bootstrap=bootstrap, as_json=as_json)


def remove(
    user: User,
    line: CardLineId,
    actor: Actor = None,
    reason: Reason = "",
    wait: Wait = WAIT_SECONDS,
    yes: Yes = False,
    dry_run: DryRun = False,
    bootstrap: Bootstrap = None,
    as_json: AsJson = False,
) -> None:
    """Remove a line, and its words from the log.

    There is no way back. Asks first; scripts confirm with --yes.
    """
    _change(
        user,
        "remove",
        {"line_id": line},
        (actor, reason, wait),
        bootstrap=bootstrap,
        dry_run=dry_run,
        yes=yes,
        as_json=as_json,
    )


def _change(
    user: str,
    action: str,
    about: dict[str, Any],
    given: tuple[str | None, str, float],
    *,
    bootstrap: str | None,
    dry_run: bool = False,
    yes: bool = False,
    as_json: bool = False,
) -> None:
    """Send a command, wait for its result and print it.

    Args:
        user: whose card.
        action: what it does.
        about: the other fields of the command.
        given: who, why, and how many seconds to wait.
        bootstrap: of the options.
        dry_run: only tell what it would do.
        yes: do not ask.
        as_json: print JSON.
    """
    from operators.cards.commands import is_as_it_was, resolve_command  # noqa: PLC0415
    from operators.cards.words import why_not  # noqa: PLC0415
    from schemas import CardCommand  # noqa: PLC0415
    from streams.privacy import privacy_of  # noqa: PLC0415
    from streams.rights.card_topic import newest_card  # noqa: PLC0415
    from streams.rights.cards import line_of_card  # noqa: PLC0415
    from streams.rights.commander import Commander  # noqa: PLC0415

    actor, reason, wait = given
    chosen = reachable(settings(bootstrap=bootstrap))
    envelope = {"event_id": uuid.uuid4().hex, "occurred_at": datetime.now(UTC), "user_id": user, "action": action}
    command = CardCommand.model_validate({**envelope, "actor": actor or signed_in(), "reason": reason, **about})
    card = newest_card(chosen, user)
    if command.line_id is not None:
        line_of_card(card, command.line_id)
    would = resolve_command(card, command, None, privacy_of(chosen))
    if would is None or is_as_it_was(card, would):
        kept_out = f": {why_not(would.not_kept[0].kind)} is not kept" if would is not None and would.not_kept else ""
        note(f"nothing would be changed{kept_out or ': it is so already'}")
        raise typer.Exit(FAILED)
    if dry_run:
        _tell(would, card, as_json)
        note(f"would be version {would.version}; nothing was sent")
        return
    if action == "remove":
        confirm(f"Remove {_said(would, card)[0]!r} from the card of {user}, and its words from the log?", yes=yes)
    with Commander(chosen, user) as commander:
        diff = commander.change_card(command, wait)
    if diff is None:
        _not_yet(command.event_id, chosen, wait)
    else:
        _tell(diff, card, as_json)


def _not_yet(event_id: str, chosen: "Settings", wait: float) -> None:
    if not wait:
        note(f"sent as {event_id}; not waited for")
        return
    note(
        f"sent as {event_id}; no worker of {chosen.app_id} has carried it out within {wait:g} s. "
        "It is kept and will be: `sager doctor` shows what the workers do"
    )
    raise typer.Exit(FAILED)


def _said(diff: "CardDiff", card: "Card | None") -> list[str]:
    """What the changed lines say, those that are gone too."""
    from operators.cards.words import in_words, names  # noqa: PLC0415

    known = names(card)
    return [
        in_words(change.line) if change.line is not None else known.get(change.line_id, "a line that is gone")
        for change in diff.changes
    ]


def _tell(diff: "CardDiff", card: "Card | None", as_json: bool) -> None:
    if as_json:
        print_json(diff.model_dump(mode="json"))
        return
    for change, said in zip(diff.changes, _said(diff, card), strict=True):
        print(printable(f"{change.kind.value}: {said}"))
    print(f"version {diff.version}")
