"""`sager policy add`, `reword`, `remove`, `correct`, `pin` ...: changes by people."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from streams.cli.options import AsJson, Bootstrap, User, connected_settings, examples
from streams.cli.output import FAILED, note, print_json, printable
from streams.cli.policy import (
    WAIT_SECONDS,
    Actor,
    InDomain,
    LineOrStatement,
    Reason,
    Wait,
    Yes,
    confirm,
    current_user,
    exit_unanswered,
    group,
    name_warning,
    nearest_sentence,
    note_unvouched,
    snapshot,
    with_shared_options,
)
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from schemas import Correction, PolicySkill, SkillCommand, SkillDiff

Line = Annotated[str, typer.Argument(help="The line's id, as `policy show` prints it.", metavar="ATTRIBUTE")]
TierName = Literal["low", "medium", "high"]
KindName = Literal["preference", "pattern", "criterion"]
ScopeName = Literal["now", "always"]


@dataclass(frozen=True)
class ChangeOptions:
    """The options that the verbs on a skill share."""

    user: User
    domain: InDomain
    actor: Actor = None
    reason: Reason = ""
    wait: Wait = WAIT_SECONDS
    yes: Yes = False
    bootstrap: Bootstrap = None
    as_json: AsJson = False

    def send_command(self, action: str, question: str = "", **about: Any) -> None:
        """Send a skill command and print its diff; `question` needs a yes."""
        from schemas import SkillCommand  # noqa: PLC0415

        by = {"action": action, "actor": self.actor or current_user(), "reason": self.reason}
        if self.send(SkillCommand, question, **by, **about).refused:
            raise typer.Exit(FAILED)

    def send(self, kind: "type[SkillCommand | Correction]", question: str = "", **about: Any) -> "SkillDiff":
        """Send an event with these fields; print and return its diff."""
        from streams.kafka.producer import envelope  # noqa: PLC0415
        from streams.rights.commands import CommandClient  # noqa: PLC0415
        from streams.rights.previews import find_data  # noqa: PLC0415

        fields = {**envelope(datetime.now(UTC)), "user_id": self.user, "domain": self.domain, **about}
        event = kind.model_validate(fields)
        chosen = connected_settings(self.bootstrap)
        inventory = find_data(chosen, self.user, self.domain)
        if warning := name_warning(inventory, self.domain):
            question = f"{warning} This would start a new skill. Continue?"
        if question:
            confirm(question, yes=self.yes)
        with CommandClient(chosen, self.user) as client:
            diff = client.change_skill(event, self.wait)
        if diff is None:
            exit_unanswered(event.event_id, self.wait)
        _print_diff(diff, inventory.skill(self.domain), as_json=self.as_json)
        return diff


def add(
    change: ChangeOptions,
    dimension: Annotated[str, typer.Argument(help="The kind of fact, such as genre.", metavar="DIMENSION")],
    value: Annotated[str, typer.Argument(help="The preferred value, in a few words.", metavar="VALUE")],
    tier: Annotated[TierName, typer.Option(help="How certain the line is.")] = "high",
    kind: Annotated[KindName, typer.Option(help="The kind of line.")] = "preference",
) -> None:
    """Add a line that the person states."""
    change.send_command("add", line={"kind": kind, "dimension": dimension, "value": value, "tier": tier})


def reword(
    change: ChangeOptions,
    attribute: Line,
    value: Annotated[str, typer.Argument(help="The new text of the line.", metavar="VALUE")],
) -> None:
    """Reword a line; it keeps its tier and its evidence."""
    change.send_command("reword", attribute_id=attribute, value=value)


def remove(change: ChangeOptions, attribute: LineOrStatement) -> None:
    """Remove a line or a statement, by its id.

    Later choices may bring a line back.
    """
    change.send_command("remove", attribute_id=attribute)


def set_tier(
    change: ChangeOptions,
    attribute: Line,
    tier: Annotated[TierName, typer.Argument(help="How certain the line is.", metavar="low|medium|high")],
) -> None:
    """Set how certain a line is."""
    change.send_command("set-tier", attribute_id=attribute, tier=tier)


def roll_back(
    change: ChangeOptions,
    version: Annotated[int, typer.Argument(help="The version to restore; 0: the seed.", min=0, metavar="VERSION")],
) -> None:
    """Restore the lines of an earlier version, as a new version.

    Asks for confirmation; scripts confirm with --yes.
    """
    from operators.history import at_version  # noqa: PLC0415
    from streams.analytics import read  # noqa: PLC0415

    user, domain = change.user, change.domain
    with snapshot() as con:
        then = at_version(read.diffs(con, user, domain), version)
    if then is None:
        raise StreamsError(f"{user!r} has no version {version} in {domain!r}: `sager policy log {user}` lists them")
    question = f"Roll the skill of {user} in {domain} back to version {version}?"
    restored = {"version_at": then.occurred_at, "lines": then.attributes, "hypotheses": then.hypotheses}
    change.send_command("roll-back", question, to_version=version, **restored)


def correct(
    change: ChangeOptions,
    words: Annotated[str, typer.Argument(help="A sentence in the person's own words.", metavar="WORDS")],
    scope: Annotated[ScopeName | None, typer.Option(help="How long it holds. [as in the sentence, or always]")] = None,
) -> None:
    """Correct a skill in the person's own words.

    Prints the understood statements with their ids: `policy remove` withdraws one. A sentence that is not understood
    stays in the log and changes nothing; then the exit code is 1.
    """
    from schemas import Correction  # noqa: PLC0415

    diff = change.send(Correction, text=words, scope=scope)
    if diff.trigger is not None and diff.trigger.explanation:
        note(diff.trigger.explanation)
    if diff.trigger is not None and not diff.trigger.understood:
        raise typer.Exit(FAILED)


def _print_diff(diff: "SkillDiff", skill: "PolicySkill | None", *, as_json: bool) -> None:
    """Print a version's changes, and its refusals with the nearest ids."""
    from streams.cli.policy.log import effects_of  # noqa: PLC0415

    if as_json:
        print_json(diff.model_dump(mode="json"))
    else:
        known = {each.statement_id: each for each in skill.stated} if skill else {}
        print(printable("\n".join([*(effect for effect, _ in effects_of(diff, known)), f"version {diff.version}"])))
    for refused in diff.refused:
        names = []
        if skill is not None and refused.why.value == "unknown-attribute":
            names = [line.attribute_id for line in skill.attributes] + [each.statement_id for each in skill.stated]
        note(f"refused: {refused.attribute_id}: {refused.why.value}.{nearest_sentence(refused.attribute_id, names)}")
    note_unvouched(change.discovered for change in diff.changes if change.discovered is not None)


def _register(action: str, text: str) -> None:
    """Add a verb for an action on a line or a skill."""

    def change_line(change: ChangeOptions, attribute: Line) -> None:
        change.send_command(action, attribute_id=attribute)

    def change_skill(change: ChangeOptions) -> None:
        change.send_command(action)

    function, line = (change_line, " preference:genre:noir") if action.endswith("pin") else (change_skill, "")
    verb = with_shared_options(ChangeOptions, function)
    group.command(action, help=text, epilog=examples(f"sager policy {action} ann{line} --domain films"))(verb)


for name, function, arguments in (
    ("add", add, 'genre "film noir" --domain films --reason "on the phone"'),
    ("reword", reword, 'preference:genre:noir "film noir" --domain films'),
    ("remove", remove, "avoids:preference:genre:noir --domain films"),
    ("set-tier", set_tier, "preference:genre:noir high --domain films"),
    ("roll-back", roll_back, "3 --domain films"),
    ("correct", correct, '"no horror, please" --domain films'),
):
    verb = with_shared_options(ChangeOptions, function)
    group.command(name, epilog=examples(f"sager policy {name} ann {arguments}"))(verb)
_register("pin", "Protect a line: it is never weakened and never evicted.")
_register("unpin", "Allow a line to change again.")
_register("freeze", "Stop a skill from learning. Choices made meanwhile are not learned later.")
_register("unfreeze", "Resume learning of a skill.")
