"""`sager slim`: the slim skills as an app reads them, from Kafka."""

import queue
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.errors import Misconfigured
from streams.cli.options import AsJson, Bootstrap, Domain, examples, reachable, settings
from streams.cli.output import printable
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from schemas import SlimSkill
    from streams.settings import Settings

NEAREST = 5


class NoSlimSkill(StreamsError, LookupError):
    """Nothing is on the topic for this user."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "slim",
        short_help="Print slim skills, as an app reads them.",
        epilog=examples("sager slim ann", "sager slim ann --domain films", "sager slim --follow"),
    )(slim)


def slim(
    user: Annotated[str | None, typer.Argument(help="The user, as the app names them.", metavar="USER")] = None,
    domain: Domain = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on, with each one that changes.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Print the slim skill of a user: the line that an app injects into its prompt.

    With a user and a domain it is the text alone, ready for a script. With --json: one JSON object a line.
    """
    if user is None and not follow:
        raise typer.BadParameter("name a USER, or follow everybody with --follow")
    from streams.client import SlimSkills  # noqa: PLC0415

    chosen = reachable(settings(bootstrap=bootstrap))
    _check_topic(chosen)
    arrived: queue.Queue[SlimSkill] = queue.Queue()
    bare = user is not None and domain is not None and not follow
    with SlimSkills(settings=chosen, on_change=arrived.put):
        held: dict[tuple[str, str], SlimSkill] = {}
        while not arrived.empty():
            skill = arrived.get()
            held[skill.user_id, skill.domain] = skill
        if user is not None:
            found = [skill for key, skill in sorted(held.items()) if _asked(skill, user, domain)]
            if not found and not follow:
                raise NoSlimSkill(_nothing(user, domain, list(held)))
            for skill in found:
                _print(skill, bare, as_json)
        while follow:
            # With a time limit, because a wait without one cannot be interrupted on every platform.
            try:
                skill = arrived.get(timeout=1.0)
            except queue.Empty:
                continue
            if _asked(skill, user, domain):
                _print(skill, bare, as_json)


def _check_topic(chosen: "Settings") -> None:
    """Make sure that there is something to read, before waiting for it."""
    from schemas import SlimSkill  # noqa: PLC0415
    from streams.kafka.topics import inspect  # noqa: PLC0415

    name = chosen.topic(SlimSkill.TOPIC)
    if any(state.name == name and state.partitions is None for state in inspect(chosen)):
        raise Misconfigured(
            f"there is no topic {name} at {chosen.bootstrap}: is SAGER_PREFIX right? "
            "A `sager worker` creates the topics"
        )


def _asked(skill: "SlimSkill", user: str | None, domain: str | None) -> bool:
    return user in (None, skill.user_id) and domain in (None, skill.domain)


def _nothing(user: str, domain: str | None, held: list[tuple[str, str]]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415

    domains = sorted(known for name, known in held if name == user)
    if domains:
        return f"{user!r} has no slim skill in the domain {domain!r}, but in {', '.join(domains)}"
    nearest = get_close_matches(user, sorted({name for name, _ in held}), NEAREST, 0.0)
    told = f"The nearest ids: {', '.join(nearest)}" if nearest else "Nobody has one yet"
    return f"{user!r} has no slim skill: nothing is sure enough to be said, or there is no such user. {told}"


def _print(skill: "SlimSkill", bare: bool, as_json: bool) -> None:
    if as_json:
        print(skill.model_dump_json(), flush=True)
    elif bare:
        print(printable(skill.text), flush=True)
    else:
        text = skill.text or "(nothing is sure enough)"
        print(printable(f"{skill.user_id}  {skill.domain}  v{skill.skill_version}  {text}"), flush=True)
