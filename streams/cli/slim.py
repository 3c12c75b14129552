"""`sager slim`: the slim skills as an app reads them, from Kafka."""

import queue
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.errors import Misconfigured
from streams.cli.options import AsJson, Bootstrap, Domain, examples, reachable, settings
from streams.cli.output import note, print_json_line, printable
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from schemas import SlimSkill
    from streams.settings import Settings

NEAREST = 5


class NoSlimSkill(StreamsError, LookupError):
    """The topic has no slim skill of the user."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "slim",
        short_help="Print slim skills as an app reads them.",
        epilog=examples("sager slim ann", "sager slim ann --domain films", "sager slim --follow"),
    )(slim)


def slim(
    user: Annotated[str | None, typer.Argument(help="The user, as the app names them.", metavar="USER")] = None,
    domain: Domain = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep running and print every change.")] = False,
    session: Annotated[str | None, typer.Option(help="Within this session, while it lasts.", metavar="ID")] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Print the slim skill of a user: the line that an app injects into its prompt.

    With a user and a domain it prints the text alone, ready for a script. With --json: one JSON object per line; with
    --follow a removed skill, as when its person is forgotten, is a line with "removed": true.
    """
    if user is None and not follow:
        raise typer.BadParameter("name a USER, or follow all users with --follow")
    from schemas import SlimSkill  # noqa: PLC0415
    from streams.kafka.follower import Follower  # noqa: PLC0415

    chosen = reachable(settings(bootstrap=bootstrap))
    _check_topic(chosen)
    news: queue.Queue[tuple[bytes, bytes | None]] = queue.Queue()
    bare = user is not None and domain is not None and not follow
    follower = Follower(chosen, SlimSkill.TOPIC, lambda record: news.put((record.key() or b"", record.value())))
    follower.start()
    try:
        held: dict[bytes, SlimSkill] = {}
        while not news.empty():
            _take(held, *news.get())
        found = sorted((s for s in held.values() if _matches(s, user, domain)), key=lambda s: (s.user_id, s.domain))
        if user is not None:
            if not found and not follow:
                raise NoSlimSkill(_why_none(user, domain, held.values()))
            for skill in found:
                _print(skill, bare, as_json, session)
        if follow:
            note(f"following {chosen.topic(SlimSkill.TOPIC)}, {len(found)} slim skills so far; Ctrl-C ends it")
        while follow:
            # With a time limit, because a wait without one cannot be interrupted on every platform.
            try:
                key, value = news.get(timeout=1.0)
            except queue.Empty:
                continue
            before = held.get(key)
            after = _take(held, key, value)
            if after is not None and _matches(after, user, domain):
                _print(after, bare, as_json, session)
            elif value is None and before is not None and _matches(before, user, domain):
                _print_removed(before, as_json)
    finally:
        follower.stop()


def _take(held: "dict[bytes, SlimSkill]", key: bytes, value: bytes | None) -> "SlimSkill | None":
    """Apply one record, and return the slim skill if it is new. A tombstone removes it."""
    from schemas import BadRecord, SlimSkill, compound_key, decode  # noqa: PLC0415

    if value is None:
        held.pop(key, None)
        return None
    try:
        skill = decode(SlimSkill, value)
    except BadRecord:  # the materializer sends a dead letter
        return None
    if key != compound_key(skill.user_id, skill.domain):
        return None  # apps ignore records with another user's key, too
    before = held.get(key)
    if before == skill or (before is not None and before.skill_version > skill.skill_version):
        return None
    held[key] = skill
    return skill


def _check_topic(chosen: "Settings") -> None:
    """Raise if the topic does not exist, before waiting for its records."""
    from schemas import SlimSkill  # noqa: PLC0415
    from streams.kafka.topics import inspect  # noqa: PLC0415

    name = chosen.topic(SlimSkill.TOPIC)
    if any(state.name == name and state.partitions is None for state in inspect(chosen)):
        raise Misconfigured(
            f"there is no topic {name} at {chosen.bootstrap}: is SAGER_PREFIX right? "
            "A `sager worker` creates the topics"
        )


def _matches(skill: "SlimSkill", user: str | None, domain: str | None) -> bool:
    return user in (None, skill.user_id) and domain in (None, skill.domain)


def _why_none(user: str, domain: str | None, held: "Iterable[SlimSkill]") -> str:
    from difflib import get_close_matches  # noqa: PLC0415

    known = [(skill.user_id, skill.domain) for skill in held]
    domains = sorted(each for name, each in known if name == user)
    if domains:
        return f"{user!r} has no slim skill in the domain {domain!r}, but in {', '.join(domains)}"
    nearest = get_close_matches(user, sorted({name for name, _ in known}), NEAREST, 0.0)
    others = f"The nearest ids: {', '.join(nearest)}" if nearest else "No user has one yet"
    return f"{user!r} has no slim skill: no line is certain enough, or there is no such user. {others}"


def _print(skill: "SlimSkill", bare: bool, as_json: bool, session: str | None) -> None:
    if as_json:
        print_json_line(skill.model_dump(mode="json"))
    elif bare:
        print(printable(_text(skill, session)), flush=True)
    else:
        text = _text(skill, session) or "(no line is certain enough)"
        print(printable(f"{skill.user_id}  {skill.domain}  v{skill.skill_version}  {text}"), flush=True)


def _text(skill: "SlimSkill", session: str | None) -> str:
    """Return the slim skill's text, in a session or outside of one."""
    from datetime import UTC, datetime  # noqa: PLC0415

    return skill.text_at(datetime.now(UTC), session)


def _print_removed(skill: "SlimSkill", as_json: bool) -> None:
    """Print that an app which keeps a copy has to drop it."""
    if as_json:
        print_json_line({"user_id": skill.user_id, "domain": skill.domain, "removed": True})
    else:
        print(printable(f"{skill.user_id}  {skill.domain}  removed"), flush=True)
