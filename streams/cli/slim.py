"""`sager slim`: the slim skills as an app reads them, from Kafka."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from streams.cli.options import AsJson, Bootstrap, Domain, User, connected_settings, examples
from streams.cli.output import print_json, printable
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from schemas import SlimSkill

NEAREST = 5


app = typer.Typer()


@app.command(short_help="Print slim skills as an app reads them.", epilog=examples("sager slim ann --domain films"))
def slim(user: User, domain: Domain = None, as_json: AsJson = False, bootstrap: Bootstrap = None) -> None:
    """Print the slim skills of a user, read from Kafka: the line that an app adds to its prompt.

    With a domain: the text alone, for scripts. With --json: a list, one slim skill per domain.
    """
    from schemas import SlimSkill  # noqa: PLC0415
    from streams.kafka.scanner import Scanner  # noqa: PLC0415

    skills: dict[bytes, SlimSkill] = {}
    with Scanner(connected_settings(bootstrap)) as scanner:
        for message in scanner.read(scanner.partitions(SlimSkill.TOPIC)):
            _apply(skills, message.key() or b"", message.value())
    found = [skill for skill in skills.values() if skill.user_id == user and domain in (None, skill.domain)]
    found.sort(key=lambda skill: skill.domain)
    if not found:
        raise StreamsError(_why_none(user, domain, skills.values()))
    if as_json:
        print_json([skill.model_dump(mode="json") for skill in found])
        return
    for skill in found:
        text = skill.text_at(datetime.now(UTC))
        shown = f"{skill.user_id}  {skill.domain}  v{skill.skill_version}  {text or '(no line is certain enough)'}"
        print(printable(text if domain is not None else shown))


def _apply(skills: "dict[bytes, SlimSkill]", key: bytes, value: bytes | None) -> None:
    """Apply one record as apps do: ignore lower versions and records under another user's key."""
    from schemas import BadRecord, SlimSkill, compound_key, decode  # noqa: PLC0415

    if value is None:
        skills.pop(key, None)
        return
    try:
        skill = decode(SlimSkill, value)
    except BadRecord:  # the materializer sends a dead letter
        return
    before = skills.get(key)
    if key == compound_key(skill.user_id, skill.domain) and not (before and before.skill_version > skill.skill_version):
        skills[key] = skill


def _why_none(user: str, domain: str | None, skills: "Iterable[SlimSkill]") -> str:
    from difflib import get_close_matches  # noqa: PLC0415

    known = [(skill.user_id, skill.domain) for skill in skills]
    domains = sorted(each for name, each in known if name == user)
    if domains:
        return f"{user!r} has no slim skill in the domain {domain!r}, but in {', '.join(domains)}"
    nearest = get_close_matches(user, sorted({name for name, _ in known}), NEAREST, 0.0)
    others = f"The nearest ids: {', '.join(nearest)}" if nearest else "No user has one yet"
    return f"{user!r} has no slim skill: no line is certain enough, or there is no such user. {others}"
