"""`sager policy show` and `explain`: a skill, and its lines' reasons."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.options import AsJson, Domain, User, examples
from streams.cli.output import print_json, print_rows, printable
from streams.cli.policy import InDomain, LineOrStatement, by_domain, group, output_policy, snapshot
from streams.exceptions import StreamsError
from streams.views.phrases import day, statement_words, validity
from streams.views.skills import UnknownUser, read_log, skill_to_json, why_no_skill

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from schemas import PolicySkill

MOMENTS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]


@group.command(
    epilog=examples(
        "sager policy show ann --domain films --at 2026-01-31",
        "sager policy show ann --domain films --skill > SKILL.md",
    )
)
def show(
    user: User,
    domain: Domain = None,
    at: Annotated[datetime | None, typer.Option(help="As it was then (UTC).", formats=MOMENTS, metavar="TIME")] = None,
    version: Annotated[int | None, typer.Option(help="As it was at this version; 0: the seed.", min=0)] = None,
    skill: Annotated[bool, typer.Option("--skill", help="Print a SKILL.md that an agent can load.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print a user's skill, with the id of each line.

    `taken` counts how often the user lately took items with the line's value, `expected` how often they would by all
    other lines, and `by luck` how seldom a blind person's choices would prove as much.
    Lines marked `unvouched` are for people only. Read from the newest DuckDB snapshot, some seconds behind.
    """
    if at is not None and version is not None:
        raise typer.BadParameter("--at and --version both choose a version: give only one of them")
    from streams.analytics import read  # noqa: PLC0415

    with snapshot() as con:
        if at or version is not None:
            skills = _then(con, user, domain, at, version)
        elif not (skills := read.skill(con, user, domain)):
            raise UnknownUser(why_no_skill(con, user, domain))
    if as_json:
        print_json([skill_to_json(each) for each in skills])
    elif skill:
        from operators.skill_document import skill_document  # noqa: PLC0415

        if len(skills) > 1:
            domains = ", ".join(each.domain for each in skills)
            raise StreamsError(f"a SKILL.md is about one domain, and there are {domains}: choose one with --domain")
        print(skill_document(skills[0], output_policy()), end="")
    else:
        for each in skills:
            _show_skill(each)


@group.command(epilog=examples("sager policy explain ann preference:genre:noir --domain films"))
def explain(user: User, attribute: LineOrStatement, domain: InDomain, as_json: AsJson = False) -> None:
    """Explain a line or statement in plain sentences.

    The sentences name the history, choices and commands behind it, also of removed and reworded lines. --json adds ids,
    each choice with its rank, reasoner, reason and tiers. Read from the newest DuckDB snapshot, some seconds behind.
    """
    from streams.views import line_history  # noqa: PLC0415

    with snapshot() as con:
        found = line_history.explain(con, user, domain, attribute, output_policy())
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    steps = found.notable_steps
    rows = [{"when": day(step.occurred_at), "what happened": step.sentence} for step in steps]
    print_rows(rows, f"{found.words}, in {domain}: {found.state}", whole=["when"])
    if unrelated := len(found.steps) - len(steps):
        print(f"A model judged {unrelated} other choices to be unrelated.")
    for remark in filter(None, (found.without_it, found.disagreement)):
        print(printable(remark))
    if found.withheld_reason is not None:
        print(f"Apps and models do not get this line, because it is {found.withheld_reason}.")


def _then(
    con: "DuckDBPyConnection", user: str, domain: str | None, at: datetime | None, version: int | None
) -> "list[PolicySkill]":
    """Return the skills as of a version or a moment."""
    from operators.history import at_version  # noqa: PLC0415
    from streams.analytics import read  # noqa: PLC0415

    diffs = by_domain(read_log(con, user, domain))
    in_force = read.versions_at(con, user, at.replace(tzinfo=None)) if at is not None else dict.fromkeys(diffs, version)
    found = [
        skill
        for name, each in diffs.items()
        if (wanted := in_force.get(name)) is not None and (skill := at_version(each, wanted)) is not None
    ]
    if found:
        return found
    if at is None:
        raise StreamsError(f"{user!r} has no version {version}: `sager policy log {user}` lists them")
    first = min(diff.occurred_at for each in diffs.values() for diff in each)
    raise StreamsError(
        f"{user!r} had no skill at {at:%Y-%m-%d %H:%M:%S} UTC: the first version is from "
        f"{first.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    )


def _show_skill(skill: "PolicySkill") -> None:
    from operators.learning.evidence import is_counted, luck_odds  # noqa: PLC0415
    from operators.stated import avoided_ids, live_statements  # noqa: PLC0415
    from schemas import ONE  # noqa: PLC0415

    gate, silenced = output_policy(), avoided_ids(live_statements(skill, datetime.now(UTC)))
    rows = []
    for line in sorted(skill.attributes, key=lambda a: (-a.tier, -a.confirmed_at, a.attribute_id)):
        is_vouched, is_counting = gate.line_rejection(line) is None, is_counted(line)
        marks = ", pinned" * line.pinned + ", unvouched" * (not is_vouched)
        marks += ", unwanted" * (line.attribute_id in silenced)
        rows.append(
            {
                "line": f"{line.value} ({line.dimension})",
                "tier": line.tier,
                "taken": f"{line.taken / ONE:.1f}" if is_counting else "",
                "expected": f"{line.expected / ONE:.1f}" if is_counting else "",
                "by luck": luck_odds(line.proof),
                "source": f"{line.source.value}{marks}",
                "id": line.attribute_id,
            }
        )
    title = f"{skill.user_id} · {skill.domain} · version {skill.version}" + " · frozen" * skill.frozen
    print(printable(title))
    count = f"{skill.contrasts} choice{'s' * (skill.contrasts != 1)}"
    print(f"learned from {count}, the last event at {skill.occurred_at:%Y-%m-%d %H:%M:%S} UTC")
    print_rows(rows, whole=["tier", "taken", "expected", "id"])
    if not rows:
        print("no line yet: choices have proved none")
    _show_statements(skill)
    if skill.trade_off.words:
        print(printable(f"trade-off: {skill.trade_off.words}"))
    if skill.strategy.must_include:
        print(printable(f"must include: {', '.join(skill.strategy.must_include)}"))
    if skill.strategy.tie_breaker:
        print(printable(f"tie breaker: {skill.strategy.tie_breaker}"))
    print()


def _show_statements(skill: "PolicySkill") -> None:
    """Print the statements and the sessions of a skill."""
    now = datetime.now(UTC)
    rows = [
        {
            "statement": statement_words(each),
            "words": each.words,
            "holds": validity(each, skill.shifted, now),
            "id": each.statement_id,
        }
        for each in skill.stated
    ]
    print_rows(rows, whole=["id"])
    for session in skill.sessions:
        state = "over" if session.until <= now else f"until {session.until:%Y-%m-%d %H:%M} UTC"
        print(printable(f"Session {session.session_id} · {state} · events: {session.events}"))
        for line in session.lines:
            print(printable(f"  {line.value} ({line.dimension})"))
