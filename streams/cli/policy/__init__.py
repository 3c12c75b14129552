"""`sager policy`: everything about one person's skill; here, what its verbs share."""

import functools
import getpass
import inspect
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from streams.cli.options import examples, settings
from streams.cli.output import FAILED, WRONG_USE, note, printable
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from operators.language.output_policy import OutputGate
    from schemas import Attribute, SkillDiff
    from streams.rights.previews import DataInventory

WAIT_SECONDS = 30.0

InDomain = Annotated[str, typer.Option("--domain", help="The domain of the skill, such as films.", metavar="DOMAIN")]
LineOrStatement = Annotated[str, typer.Argument(help="Line or statement id, as `show` prints it.", metavar="ATTRIBUTE")]
Actor = Annotated[str | None, typer.Option(help="Your name, for the log. [default: your user name]", metavar="NAME")]
Reason = Annotated[str, typer.Option(help="The reason, for the log.")]
Wait = Annotated[float, typer.Option(help="Seconds to wait for a worker; 0: do not wait.", min=0.0, metavar="SECONDS")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]

app = typer.Typer()
group = typer.Typer(
    no_args_is_help=True,
    help="See, change, export or forget a person's skill.",
    epilog=examples("sager policy show ann", "sager policy export ann --to ann.jsonl.gz"),
)
app.add_typer(group, name="policy")


def confirm(question: str, *, yes: bool) -> None:
    """Ask a question, and exit unless the answer is yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        note(f"{question} Confirm with --yes: this is not a terminal")
        raise typer.Exit(WRONG_USE)
    # typer.confirm would print to stdout, which is for the command's output alone.
    print(f"{printable(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
        note("cancelled")
        raise typer.Exit(FAILED)


def snapshot() -> "DuckDBPyConnection":
    """Return a read-only connection to the newest snapshot."""
    from streams.analytics import read  # noqa: PLC0415

    return read.connect(settings())


def by_domain(diffs: "Iterable[SkillDiff]") -> "dict[str, list[SkillDiff]]":
    """Group diffs by domain."""
    found = defaultdict[str, list["SkillDiff"]](list)
    for diff in diffs:
        found[diff.domain].append(diff)
    return found


def current_user() -> str:
    """Return the name of the signed-in user, the default actor."""
    try:
        return getpass.getuser()
    except (OSError, KeyError) as error:  # a container's user may have no name
        raise StreamsError("this system user has no name: name yourself with --actor") from error


def exit_unanswered(event_id: str, wait: float) -> NoReturn:
    """Exit after a command without an answer; code 1 if it waited."""
    if not wait:
        note(f"sent as {event_id}, without waiting for an answer")
        raise typer.Exit
    note(
        f"sent as {event_id}, but no worker has applied it within {wait:g} s. A worker will apply it later: "
        "`sager doctor` shows the state of the workers"
    )
    raise typer.Exit(FAILED)


def output_policy() -> "OutputGate":
    """Return the configured output policy."""
    from streams.policies import output_gate  # noqa: PLC0415
    from streams.settings import Settings  # noqa: PLC0415

    return output_gate(Settings())  # its warnings are printed by `settings` before


def note_unvouched(lines: "Iterable[Attribute]") -> None:
    """Print lines withheld from models, with the reason and the remedy."""
    from streams.views.phrases import WITHHELD_REASONS  # noqa: PLC0415

    gate = output_policy()
    for line in lines:
        rejection = gate.line_rejection(line)
        if rejection is not None:
            note(
                f"unvouched: {line.value!r} is for people only, because it is {WITHHELD_REASONS[rejection.value]}. To "
                f"allow it in prompts, add a line to the file of SAGER_VOUCHED:\n  {line.dimension}: {line.value}"
            )


def with_shared_options(options: type[Any], act: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the arguments of `act` and the shared options.

    `options` is a dataclass whose first field is the user; the first argument of `act` is an instance of it.
    """
    user, *shared = inspect.signature(options).parameters.values()
    own = list(inspect.signature(act).parameters.values())[1:]

    @functools.wraps(act)
    def command(**given: Any) -> None:
        act(options(**{each.name: given.pop(each.name) for each in (user, *shared)}), **given)

    ordered = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (user, *own, *shared)]
    command.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    return command


def name_warning(inventory: "DataInventory", domain: str | None = None, line: str | None = None) -> str:
    """Return a warning about an unknown user, domain or line; else ""."""
    at = inventory.snapshot_at
    source = f"the snapshot of {at:%Y-%m-%d %H:%M:%S} UTC" if at else "no snapshot"
    unread = f", without {', '.join(inventory.unread)}" if inventory.unread else ""
    looked = f"(searched: {source}, and the topics of skills and of apps{unread})"
    if not inventory.is_known:
        return f"there is no data about a user {inventory.user_id!r} {looked}.{_nearest(inventory.nearest)}"
    if domain is not None and domain not in inventory.domains:
        others = ", ".join(inventory.domains) or "no domain"
        return f"there is no data about {inventory.user_id!r} in the domain {domain!r} {looked}; there is {others}."
    if line is not None and domain is not None and line not in inventory.lines(domain):
        nearest = nearest_sentence(line, inventory.lines(domain))
        return f"the skill of {inventory.user_id!r} in {domain!r} never had a line {line!r}.{nearest}"
    return ""


def nearest_sentence(name: str, names: list[str]) -> str:
    """Return the names with the most similar spelling, as a sentence."""
    return _nearest(get_close_matches(name, names, 5, 0.5))


def _nearest(names: list[str]) -> str:
    return f" The nearest: {', '.join(names)}." if names else ""


for verbs in ("show", "log", "change", "personal_data"):
    import_module(f"{__name__}.{verbs}")
