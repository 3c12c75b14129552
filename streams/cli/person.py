"""`sager card` and `sager slim`: a person's statements and slim skills."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.options import AsJson, Bootstrap, Domain, User, connected_settings, examples
from streams.cli.output import print_json, print_rows, printable
from streams.cli.policy import output_policy, snapshot
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from schemas import SlimSkill
    from streams.views.cards import CardView

app = typer.Typer()


@app.command(epilog=examples("sager card ann", 'sager card ann --request "where to eat tonight?" --json'))
def card(
    user: User,
    request: Annotated[str, typer.Option(help="The request at hand: lines about it come first.")] = "",
    domain: Domain = None,
    as_json: AsJson = False,
) -> None:
    """Print a person's card.

    A card has statements from conversations, with their certainty. Lines marked `unvouched` are for people only: no
    prompt has them. Read from the newest DuckDB snapshot, which is some seconds behind.
    """
    from streams.analytics import read  # noqa: PLC0415
    from streams.views.cards import card_view  # noqa: PLC0415

    with snapshot() as con:
        found = read.card(con, user)
    if found is None:
        raise StreamsError(
            f"{user!r} has no card: one starts with a statement in a conversation, or with a line that the console "
            "adds. If that was just now, try again in some seconds, after the next DuckDB snapshot"
        )
    shown = card_view(found, datetime.now(UTC), output_policy(), request=request, domain=domain)
    if as_json:
        print_json(shown.model_dump(mode="json"))
    else:
        _show(shown, with_reason=bool(request.strip()))


def _show(card: "CardView", *, with_reason: bool) -> None:
    rows = []
    for line in card.lines:
        how = line.strength.value + (f", {line.times} times" if line.times > 1 else "") + ", pinned" * line.pinned
        how += ", unvouched" * line.held_back + f"; {line.reason}" * with_reason
        since = f"{line.since:%Y-%m-%d}"
        rows.append({"line": line.says, "certain": line.certainty, "since": since, "how": how, "id": line.line_id})
    print_rows(rows, f"{card.user_id} · version {card.version}", whole=["certain", "since", "id"])
    names = {line.line_id: line.says for line in (*card.lines, *card.past)}
    for line in card.past:
        until = f", until {line.overtaken_at:%Y-%m-%d}" if line.overtaken_at else ""
        now = names.get(line.overtaken_by or "", "")
        print(printable(f"past: {line.says}{until}{f'; now {now}' if now else ''}"))


@app.command(epilog=examples("sager slim ann --domain films"))
def slim(user: User, domain: Domain = None, as_json: AsJson = False, bootstrap: Bootstrap = None) -> None:
    """Print a user's slim skills, as apps read them from Kafka.

    With a domain: the text alone, for scripts. With --json: a list, one slim skill per domain.
    """
    from schemas import SlimSkill  # noqa: PLC0415
    from streams.kafka.clients import partition_of  # noqa: PLC0415
    from streams.kafka.scanner import Scanner  # noqa: PLC0415

    skills: dict[bytes, SlimSkill] = {}
    with Scanner(connected_settings(bootstrap)) as scanner:
        where = scanner.partitions(SlimSkill.TOPIC)
        for message in scanner.read([where[partition_of(user, len(where))]]):
            _apply(skills, message.key() or b"", message.value())
    known = {skill.domain: skill for skill in skills.values() if skill.user_id == user}
    found = [known[name] for name in sorted(known) if domain in (None, name)]
    if not found and known:
        raise StreamsError(f"{user!r} has no slim skill in the domain {domain!r}, but in {', '.join(sorted(known))}")
    if not found:
        raise StreamsError(f"{user!r} has no slim skill: no line is certain enough, or there is no such user")
    if as_json:
        print_json([skill.model_dump(mode="json") for skill in found])
        return
    for skill in found:
        text = skill.text_at(datetime.now(UTC))
        shown = f"{skill.user_id}  {skill.domain}  v{skill.skill_version}  {text or '(no line is certain enough)'}"
        print(printable(text if domain is not None else shown))


def _apply(skills: "dict[bytes, SlimSkill]", key: bytes, value: bytes | None) -> None:
    """Apply a record as apps do: ignore lower versions and wrong keys."""
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
