"""`sager policy add`, `reword`, `remove`, `set-tier`, `pin`, `freeze`, `roll-back` ...: what a person may change."""

import functools
import getpass
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.errors import FAILED
from streams.cli.options import AsJson, Bootstrap, User, examples, reachable, settings
from streams.cli.output import note, print_json, printable
from streams.cli.policy.confirm import DryRun, Yes, confirm
from streams.cli.policy.unvouched import gate, note_unvouched
from streams.exceptions import StreamsError
from streams.rights.doubt import doubt, near
from streams.rights.reading import NoSuchVersion

if TYPE_CHECKING:
    from schemas import SkillCommand, SkillDiff
    from streams.rights.holdings import Holdings
    from streams.settings import Settings

InDomain = Annotated[str, typer.Option("--domain", help="The domain of the skill, such as films.", metavar="DOMAIN")]
Line = Annotated[str, typer.Argument(help="The line's id, as `policy show` prints it.", metavar="ATTRIBUTE")]
LineOrStatement = Annotated[
    str, typer.Argument(help="The id of the line or statement, as `policy show` prints it.", metavar="ATTRIBUTE")
]
Actor = Annotated[
    str | None, typer.Option(help="Who changes it, for the log. [default: who is signed in]", metavar="NAME")
]
Reason = Annotated[str, typer.Option(help="Why, for the log.")]
Wait = Annotated[float, typer.Option(help="Seconds to wait for a worker; 0: do not.", min=0.0, metavar="SECONDS")]
WAIT_SECONDS = 30.0


class TierName(StrEnum):
    """How sure to be of a line."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class KindName(StrEnum):
    """What a line is."""

    PREFERENCE = "preference"
    PATTERN = "pattern"
    CRITERION = "criterion"


AtTier = Annotated[TierName, typer.Argument(help="How sure to be of the line.", metavar="low|medium|high")]


@dataclass(frozen=True)
class Change:
    """The options that every verb shares; its own arguments come with them."""

    user: User
    domain: InDomain
    actor: Actor = None
    reason: Reason = ""
    wait: Wait = WAIT_SECONDS
    yes: Yes = False
    dry_run: DryRun = False
    bootstrap: Bootstrap = None
    as_json: AsJson = False

    def carry_out(self, action: str, question: str = "", **about: Any) -> None:
        """Send a command, wait for its result and print it.

        Args:
            action: what it does.
            question: asked first, if the action takes something away.
            about: the other fields of the command.
        """
        import uuid  # noqa: PLC0415
        from datetime import UTC, datetime  # noqa: PLC0415

        from schemas import SkillCommand  # noqa: PLC0415
        from streams.rights.commander import Commander  # noqa: PLC0415
        from streams.rights.holdings import look  # noqa: PLC0415

        chosen = reachable(settings(bootstrap=self.bootstrap))
        command = SkillCommand.model_validate(
            {
                "event_id": uuid.uuid4().hex,
                "occurred_at": datetime.now(UTC),
                "user_id": self.user,
                "domain": self.domain,
                "action": action,
                "actor": self.actor or signed_in(),
                "reason": self.reason,
                **about,
            }
        )
        held = look(chosen, self.user, self.domain)
        doubtful = doubt(held, chosen, self.domain)
        if self.dry_run:
            _preview(command, held, chosen, doubtful, self.as_json)
            return
        if doubtful:
            question = f"{doubtful} This would start a new skill. Go on?"
        if question:
            confirm(question, yes=self.yes)
        with Commander(chosen, self.user) as commander:
            diff = commander.carry_out(command, self.wait)
        _tell(command, diff, held, chosen, self.wait, self.as_json)


def register(group: typer.Typer) -> None:
    """Add the verbs that change a skill."""
    shown: dict[str, tuple[Callable[..., None], str]] = {
        "add": (add, 'sager policy add ann genre "film noir" --domain films --reason "said so"'),
        "reword": (reword, 'sager policy reword ann preference:genre:noir "film noir" --domain films'),
        "remove": (remove, "sager policy remove ann avoids:preference:genre:noir --domain films"),
        "set-tier": (set_tier, "sager policy set-tier ann preference:genre:noir high --domain films"),
        "pin": (pin, "sager policy pin ann preference:genre:noir --domain films"),
        "unpin": (unpin, "sager policy unpin ann preference:genre:noir --domain films"),
        "freeze": (freeze, "sager policy freeze ann --domain films --reason holidays"),
        "unfreeze": (unfreeze, "sager policy unfreeze ann --domain films"),
        "roll-back": (roll_back, "sager policy roll-back ann 3 --domain films"),
    }
    for verb, (act, example) in shown.items():
        group.command(verb, epilog=examples(example))(_command(act))


def _command(act: Callable[..., None]) -> Callable[..., None]:
    """A verb as Typer sees it: the arguments of its own, and those of every `Change` around them."""
    user, domain, *options = inspect.signature(Change).parameters.values()
    own = list(inspect.signature(act).parameters.values())[1:]

    @functools.wraps(act)
    def command(**given: Any) -> None:
        shared = {option.name: given.pop(option.name) for option in (user, domain, *options)}
        act(Change(**shared), **given)

    ordered = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (user, domain, *own, *options)]
    command.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    return command


def add(
    change: Change,
    dimension: Annotated[str, typer.Argument(help="What it is about, such as genre.", metavar="DIMENSION")],
    value: Annotated[str, typer.Argument(help="What draws them, in a few words.", metavar="VALUE")],
    tier: Annotated[TierName, typer.Option(help="How sure to be of it.")] = TierName.HIGH,
    kind: Annotated[KindName, typer.Option(help="What it is.")] = KindName.PREFERENCE,
) -> None:
    """Add a line that the person states."""
    change.carry_out("add", line={"kind": kind, "dimension": dimension, "value": value, "tier": tier})


def reword(
    change: Change,
    attribute: Line,
    value: Annotated[str, typer.Argument(help="What the line is to say.", metavar="VALUE")],
) -> None:
    """Reword a line; it keeps its tier and its evidence."""
    change.carry_out("reword", attribute_id=attribute, value=value)


def remove(change: Change, attribute: LineOrStatement) -> None:
    """Remove a line or a statement, by its id.

    Later choices may bring a line back.
    """
    change.carry_out("remove", attribute_id=attribute)


def set_tier(change: Change, attribute: Line, tier: AtTier) -> None:
    """Set how sure to be of a line."""
    change.carry_out("set-tier", attribute_id=attribute, tier=tier)


def pin(change: Change, attribute: Line) -> None:
    """Keep a line: it is never weakened and never pushed out."""
    change.carry_out("pin", attribute_id=attribute)


def unpin(change: Change, attribute: Line) -> None:
    """Let a line change again."""
    change.carry_out("unpin", attribute_id=attribute)


def freeze(change: Change) -> None:
    """Stop a skill from learning. Choices made meanwhile are not learned later."""
    change.carry_out("freeze")


def unfreeze(change: Change) -> None:
    """Let a skill learn again."""
    change.carry_out("unfreeze")


def roll_back(
    change: Change,
    version: Annotated[int, typer.Argument(help="The version to go back to; 0: the seed.", min=0, metavar="VERSION")],
) -> None:
    """Go back to the lines of an earlier version.

    They become a new version; what was between stays in the log. Asks first; scripts confirm with --yes.
    """
    from operators.history import at_version  # noqa: PLC0415
    from streams.materializer import read  # noqa: PLC0415

    user, domain = change.user, change.domain
    with read.connect(settings(bootstrap=change.bootstrap)) as con:
        then = at_version(read.diffs(con, user, domain), version)
    if then is None:
        raise NoSuchVersion(f"{user!r} has no version {version} in {domain!r}: `sager policy log {user}` has them all")
    question = f"Roll the skill of {user} in {domain} back to version {version}?"
    change.carry_out("roll-back", question, to_version=version, lines=then.attributes)


def signed_in() -> str:
    """Who is signed in on this machine: the actor where none is named.

    Raises:
        StreamsError: nobody is.
    """
    try:
        return getpass.getuser()
    except (OSError, KeyError) as error:  # a container's user may have no name
        raise StreamsError("nobody is signed in here: say with --actor who changes the skill") from error


def _preview(command: "SkillCommand", held: "Holdings", chosen: "Settings", doubtful: str, as_json: bool) -> None:
    """Print what the command would do to the newest skill that was seen; nothing is sent."""
    from operators.merge import resolve_command  # noqa: PLC0415
    from streams.privacy import privacy_of  # noqa: PLC0415
    from streams.vouching import vouching_of  # noqa: PLC0415

    if doubtful:
        note(doubtful)
    skill = held.skill(command.domain)
    diff = (
        None
        if skill is None
        else resolve_command(skill, command, privacy=privacy_of(chosen), vouching=vouching_of(chosen))
    )
    if as_json:
        print_json({"dry_run": True, "diff": diff and diff.model_dump(mode="json")})
        return
    if diff is None:
        print("the skill would start, from the person's history or the domain's template, with this command")
        return
    _print_changes(diff, held)
    print(f"would be version {diff.version}; nothing was sent")
    _note_refusals(diff, held)
    _note_unvouched(diff)


def _tell(
    command: "SkillCommand", diff: "SkillDiff | None", held: "Holdings", chosen: "Settings", wait: float, as_json: bool
) -> None:
    if diff is None:
        note(
            f"sent as {command.event_id}; not waited for"
            if not wait
            else f"sent as {command.event_id}; no worker of {chosen.app_id} has carried it out within {wait:g} s. "
            "It is kept and will be: `sager doctor` shows what the workers do"
        )
        raise typer.Exit(FAILED if wait else 0)
    if as_json:
        print_json(diff.model_dump(mode="json"))
    else:
        _print_changes(diff, held)
        print(f"version {diff.version}")
    _note_refusals(diff, held)
    _note_unvouched(diff)
    if diff.refused:
        raise typer.Exit(FAILED)


def _print_changes(diff: "SkillDiff", held: "Holdings") -> None:
    from streams.cli.policy.said import changed  # noqa: PLC0415
    from streams.rights.changes import change_of  # noqa: PLC0415

    for change in diff.changes:
        print(printable(change_of(change)))
    skill = held.skill(diff.domain)
    known = {said.statement_id: said for said in skill.stated} if skill else {}
    for each in diff.stated:
        print(printable(changed(each, known)))
    if diff.frozen is not None:
        print("frozen" if diff.frozen else "learns again")


def _note_unvouched(diff: "SkillDiff") -> None:
    note_unvouched((change.discovered for change in diff.changes if change.discovered is not None), gate())


def _note_refusals(diff: "SkillDiff", held: "Holdings") -> None:
    """Say what was refused; of a line that is not there, the nearest that are."""
    for refused in diff.refused:
        skill = held.skill(diff.domain) if refused.why.value == "unknown-attribute" else None
        names = [line.attribute_id for line in skill.attributes] if skill else []
        names += [said.statement_id for said in skill.stated] if skill else []
        note(f"refused: {refused.attribute_id}: {refused.why.value}{near(refused.attribute_id, names)}")
