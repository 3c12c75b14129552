"""Options and helpers that the verbs of `sager policy` and `sager card` share."""

import functools
import getpass
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from streams.cli.errors import FAILED, WRONG_USE
from streams.cli.options import settings
from streams.cli.output import note, printable
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from operators.language.output_policy import OutputGate
    from schemas import Attribute, SkillDiff

WAIT_SECONDS = 30.0

InDomain = Annotated[str, typer.Option("--domain", help="The domain of the skill, such as films.", metavar="DOMAIN")]
LineOrStatement = Annotated[
    str, typer.Argument(help="The id of the line or statement, as `policy show` prints it.", metavar="ATTRIBUTE")
]
Actor = Annotated[
    str | None, typer.Option(help="Who changes it, for the log. [default: who is signed in]", metavar="NAME")
]
Reason = Annotated[str, typer.Option(help="Why, for the log.")]
Wait = Annotated[float, typer.Option(help="Seconds to wait for a worker; 0: do not.", min=0.0, metavar="SECONDS")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def confirm(question: str, *, yes: bool) -> None:
    """Return if the answer is yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        note(f"{question} There is no terminal to ask at: confirm with --yes")
        raise typer.Exit(WRONG_USE)
    # typer.confirm would put a blank on stdout, before the answer of the command.
    print(f"{printable(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
        note("nothing was done")
        raise typer.Exit(FAILED)


@contextmanager
def snapshot() -> "Iterator[DuckDBPyConnection]":
    """Open a read-only connection to the newest snapshot."""
    from streams.analytics import read  # noqa: PLC0415

    con = read.connect(settings())
    try:
        yield con
    finally:
        con.close()


def by_domain(diffs: "Iterable[SkillDiff]") -> "dict[str, list[SkillDiff]]":
    """Group diffs by domain."""
    found: dict[str, list[SkillDiff]] = {}
    for diff in diffs:
        found.setdefault(diff.domain, []).append(diff)
    return found


def current_user() -> str:
    """Return the name of the signed-in user: the default actor."""
    try:
        return getpass.getuser()
    except (OSError, KeyError) as error:  # a container's user may have no name
        raise StreamsError("no user is signed in here: name the one who changes the skill with --actor") from error


def exit_unanswered(event_id: str, wait: float) -> NoReturn:
    """Exit after a command without an answer: with code 1 if it waited for one."""
    if not wait:
        note(f"sent as {event_id}; not waited for")
        raise typer.Exit
    note(
        f"sent as {event_id}; no worker has carried it out within {wait:g} s. "
        "It is kept and will be: `sager doctor` shows what the workers do"
    )
    raise typer.Exit(FAILED)


def output_policy() -> "OutputGate":
    """Return the gate of values for models, by the effective configuration."""
    from streams.output_gate import output_gate  # noqa: PLC0415
    from streams.settings import Settings  # noqa: PLC0415

    return output_gate(Settings())  # its warnings are printed by `settings` before


def note_unvouched(lines: "Iterable[Attribute]") -> None:
    """Name the lines that models do not get, why, and how an operator vouches for them."""
    from streams.views.sentences import WITHHELD_REASONS  # noqa: PLC0415

    gate = output_policy()
    for line in lines:
        held = gate.line_rejection(line)
        if held is not None:
            note(
                f"unvouched: {line.value!r} is for people only, because it is {WITHHELD_REASONS[held.value]}. "
                "To vouch for "
                f"it, write a line into the file of SAGER_VOUCHED:\n  {line.dimension}: {line.value}"
            )


def with_shared_options(options: type[Any], act: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the user, the own arguments of `act`, and the options that it shares with other verbs.

    `options` is a dataclass whose first field is the user; `act` takes an instance of it first.
    """
    user, *shared = inspect.signature(options).parameters.values()
    own = list(inspect.signature(act).parameters.values())[1:]

    @functools.wraps(act)
    def command(**given: Any) -> None:
        act(options(**{each.name: given.pop(each.name) for each in (user, *shared)}), **given)

    ordered = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (user, *own, *shared)]
    command.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    return command
