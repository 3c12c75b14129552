"""`sager slim`: the slim skills as an app reads them, from Kafka."""

import queue
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from streams.cli.options import AsJson, Bootstrap, Domain, connected, examples
from streams.cli.output import note, print_json_line, printable
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from schemas import SlimSkill

NEAREST = 5


class NoSlimSkill(StreamsError, LookupError):
    """The topic has no slim skill of the user."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "slim",
        short_help="Print slim skills as an app reads them.",
        epilog=examples("sager slim ann --domain films", "sager slim --follow"),
    )(slim)


def slim(
    user: Annotated[str | None, typer.Argument(help="The user, as the app names them.", metavar="USER")] = None,
    domain: Domain = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep running and print every change.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = None,
) -> None:
    """Print the slim skill of a user: the line that an app injects into its prompt.

    With a user and a domain it prints the text alone. With --json: one JSON object per line; with --follow a removed
    skill, as when its person is forgotten, is a line with "removed": true.
    """
    if user is None and not follow:
        raise typer.BadParameter("name a USER, or follow all users with --follow")
    from schemas import SlimSkill  # noqa: PLC0415
    from streams.kafka.follower import Follower  # noqa: PLC0415
    from streams.kafka.scanner import Scanner  # noqa: PLC0415

    chosen = connected(bootstrap)
    with Scanner(chosen) as scanner:
        scanner.partitions(SlimSkill.TOPIC)  # raises if there is no topic, before a wait for its records
    news: queue.Queue[tuple[bytes, bytes | None]] = queue.Queue()
    follower = Follower(chosen, SlimSkill.TOPIC, lambda key, value: news.put((key, value)))
    follower.start()
    try:
        held: dict[bytes, SlimSkill] = {}
        while not news.empty():
            _take(held, *news.get())
        found = sorted((s for s in held.values() if _matches(s, user, domain)), key=lambda s: (s.user_id, s.domain))
        if not found and not follow:
            raise NoSlimSkill(_why_none(user or "", domain, held.values()))
        for skill in found if user is not None else ():
            _print(skill, as_json, bare=domain is not None and not follow)
        if follow:
            note(f"following {chosen.topic(SlimSkill.TOPIC)}, {len(found)} slim skills so far; Ctrl-C ends it")
            _follow(held, news, user, domain, as_json)
    finally:
        follower.stop()


def _follow(
    held: "dict[bytes, SlimSkill]",
    news: "queue.Queue[tuple[bytes, bytes | None]]",
    user: str | None,
    domain: str | None,
    as_json: bool,
) -> NoReturn:
    while True:
        # With a time limit, because a wait without one cannot be interrupted on every platform.
        try:
            key, value = news.get(timeout=1.0)
        except queue.Empty:
            continue
        before = held.get(key)
        after = _take(held, key, value)
        if after is not None and _matches(after, user, domain):
            _print(after, as_json, bare=False)
        elif value is None and before is not None and _matches(before, user, domain):
            if as_json:
                print_json_line({"user_id": before.user_id, "domain": before.domain, "removed": True})
            else:
                print(printable(f"{before.user_id}  {before.domain}  removed"), flush=True)


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


def _print(skill: "SlimSkill", as_json: bool, *, bare: bool) -> None:
    text = skill.text_at(datetime.now(UTC))
    if as_json:
        print_json_line(skill.model_dump(mode="json"))
    elif bare:
        print(printable(text), flush=True)
    else:
        shown = text or "(no line is certain enough)"
        print(printable(f"{skill.user_id}  {skill.domain}  v{skill.skill_version}  {shown}"), flush=True)
