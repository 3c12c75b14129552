"""`sager card set`, `pin`, `unpin` and `remove`: changes by a person on their card."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.options import AsJson, Bootstrap, User, examples, reachable, settings
from streams.cli.output import note, print_json, printable
from streams.cli.policy.common import WAIT_SECONDS, Wait, signed_in, unanswered, verb
from streams.cli.policy.confirm import DryRun, Yes, confirm

if TYPE_CHECKING:
    from schemas import Card, CardDiff

CardLineId = Annotated[str, typer.Argument(help="The line's id, as `card show` prints it.", metavar="LINE")]
Actor = Annotated[
    str | None,
    typer.Option(help="Who changes it; stays in the command. [default: who is signed in]", metavar="NAME"),
]
Reason = Annotated[str, typer.Option(help="Why; stays in the command: the card and its log do not have it.")]


@dataclass(frozen=True)
class CardChange:
    """The options that every verb on a card shares."""

    user: User
    actor: Actor = None
    reason: Reason = ""
    wait: Wait = WAIT_SECONDS
    yes: Yes = False
    dry_run: DryRun = False
    bootstrap: Bootstrap = None
    as_json: AsJson = False

    def carry_out(self, action: str, **about: Any) -> None:
        """Send a command, wait for its diff and print it.

        Args:
            action: the command's action.
            about: the other fields of the command.
        """
        from schemas import CardCommand  # noqa: PLC0415
        from streams.privacy import privacy_of  # noqa: PLC0415
        from streams.rights.cards import effect_of, line_of_card, newest_card  # noqa: PLC0415
        from streams.rights.commander import Commander  # noqa: PLC0415

        chosen = reachable(settings(bootstrap=self.bootstrap))
        envelope = {"event_id": uuid.uuid4().hex, "occurred_at": datetime.now(UTC), "user_id": self.user}
        by = {"actor": self.actor or signed_in(), "reason": self.reason}
        command = CardCommand.model_validate({**envelope, **by, "action": action, **about})
        card = newest_card(chosen, self.user)
        if command.line_id is not None:
            line_of_card(card, command.line_id)
        would = effect_of(card, command, privacy_of(chosen))
        if self.dry_run:
            _print_diff(would, card, self.as_json)
            note(f"would be version {would.version}; nothing was sent")
            return
        if action == "remove":
            question = f"Remove {_words(would, card)[0]!r} from the card of {self.user}, and its words from the log?"
            confirm(question, yes=self.yes)
        with Commander(chosen, self.user) as commander:
            diff = commander.change_card(command, self.wait)
        if diff is None:
            unanswered(command.event_id, self.wait)
        _print_diff(diff, card, self.as_json)


def register(group: typer.Typer) -> None:
    """Add the verbs."""
    for name, act, *lines in (
        ("set", set_, "sager card set ann coriander --avoids",
         'sager card set ann "evening runs" --in-place-of prefers:stated:morning-runs'),
        ("pin", pin, "sager card pin ann prefers:stated:vegetarian-food"),
        ("unpin", unpin, "sager card unpin ann prefers:stated:vegetarian-food"),
        ("remove", remove, "sager card remove ann avoids:stated:coriander"),
    ):  # fmt: skip
        group.command(name, epilog=examples(*lines))(verb(CardChange, act))


def set_(
    change: CardChange,
    value: Annotated[str, typer.Argument(help="What they like, in a few words.", metavar="VALUE")],
    avoids: Annotated[bool, typer.Option("--avoids", help="They do not like it.")] = False,
    dimension: Annotated[str, typer.Option(help="What it is about, of the domain's vocabulary.")] = "stated",
    domain: Annotated[str | None, typer.Option(help="Where it holds, such as films. [default: anywhere]")] = None,
    in_place_of: Annotated[str | None, typer.Option(help="The line whose place it takes.", metavar="LINE")] = None,
) -> None:
    """Write a line on a card.

    A line that a command wrote does not fade, and gives way to plain words alone.
    """
    stance = "avoids" if avoids else "prefers"
    line = {"stance": stance, "dimension": dimension, "value": value, "domain": domain}
    change.carry_out("set", line=line, line_id=in_place_of)


def pin(change: CardChange, line: CardLineId) -> None:
    """Keep a line: it does not fade."""
    change.carry_out("pin", line_id=line)


def unpin(change: CardChange, line: CardLineId) -> None:
    """Let a line change again."""
    change.carry_out("unpin", line_id=line)


def remove(change: CardChange, line: CardLineId) -> None:
    """Remove a line, and its words from the log.

    There is no way back. Asks first; scripts confirm with --yes.
    """
    change.carry_out("remove", line_id=line)


def _words(diff: "CardDiff", card: "Card | None") -> list[str]:
    """Return the words of the changed lines, of those that are gone too."""
    from operators.cards.lines import in_words, names  # noqa: PLC0415

    known = names(card)
    return [
        in_words(change.line) if change.line is not None else known.get(change.line_id, "a line that is gone")
        for change in diff.changes
    ]


def _print_diff(diff: "CardDiff", card: "Card | None", as_json: bool) -> None:
    if as_json:
        print_json(diff.model_dump(mode="json"))
        return
    for change, words in zip(diff.changes, _words(diff, card), strict=True):
        print(printable(f"{change.kind.value}: {words}"))
    print(f"version {diff.version}")
