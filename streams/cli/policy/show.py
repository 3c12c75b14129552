"""`sager policy show` and `explain`: a skill, and why a line is in it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.options import AsJson, Domain, User, examples
from streams.cli.output import console, print_json, printable, row, table
from streams.cli.policy.common import MOMENTS, InDomain, LineOrStatement, by_domain, gate, snapshot
from streams.cli.policy.wording import show_said
from streams.exceptions import StreamsError
from streams.rights.reading import NoSuchVersion, UnknownUser, logged, unknown
from streams.rights.sentences import counted, day
from streams.shown import plain

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from rich.console import Console

    from operators.vouch import Vouching
    from schemas import Attribute, PolicySkill
    from streams.rights.explained import LineStep, StatementStep

WIDE = 110
"""Width of a terminal from which ids have a column of their own."""
SILENT = "Counted, says nothing yet"


class Format(StrEnum):
    """How a skill is printed."""

    TEXT = "text"
    JSON = "json"
    SKILL = "skill"


class WhichSkill(StreamsError, ValueError):
    """One skill was asked for, and the user has several."""


def register(group: typer.Typer) -> None:
    """Add the verbs."""
    group.command(
        "show",
        epilog=examples(
            "sager policy show ann",
            "sager policy show ann --domain films --at 2026-01-31",
            "sager policy show ann --domain films --format skill > SKILL.md",
        ),
    )(show)
    group.command(
        "explain",
        epilog=examples(
            "sager policy explain ann preference:genre:noir --domain films",
            "sager policy explain ann avoids:preference:genre:horror --domain films --json",
        ),
    )(explain)


def show(
    user: User,
    domain: Domain = None,
    at: Annotated[
        datetime | None, typer.Option(help="As it was then, in UTC.", formats=MOMENTS, metavar="TIME")
    ] = None,
    version: Annotated[int | None, typer.Option(help="As it was at this version; 0: the seed.", min=0)] = None,
    layout: Annotated[
        Format, typer.Option("--format", help="skill: a SKILL.md that an agent can load.", metavar="text|json|skill")
    ] = Format.TEXT,
    as_json: AsJson = False,
) -> None:
    """Print a user's skill, with the id of each line.

    `taken` counts how often the user lately took items with the line's value, `chance` how often a blind choice would.
    Lines marked `unvouched` are for people only: no prompt has them. Statements and the newest sessions come last.
    Read from the newest DuckDB snapshot, some seconds behind. With --json: a list, one skill per domain.
    """
    if at is not None and version is not None:
        raise typer.BadParameter("--at and --version both say which version: give one of them")
    with snapshot() as con:
        skills = _then(con, user, domain, at, version) if at or version is not None else _now(con, user, domain)
    if as_json or layout is Format.JSON:
        print_json([plain(skill) for skill in skills])
    elif layout is Format.TEXT:
        for skill in skills:
            _show_skill(console(), skill)
    else:
        from operators.skill_document import skill_document  # noqa: PLC0415

        if len(skills) > 1:
            domains = ", ".join(skill.domain for skill in skills)
            raise WhichSkill(f"a SKILL.md is of one domain, and there are {domains}: say which with --domain")
        print(skill_document(skills[0], gate()), end="")


def explain(user: User, attribute: LineOrStatement, domain: InDomain, as_json: AsJson = False) -> None:
    """Explain one line or statement of a skill in plain sentences.

    The sentences name the history, choices and commands behind it, oldest first, and a model's verdicts. Removed and
    reworded lines have an explanation too. --json adds ids, the ranking and place of each choice, reasoner, reason and
    tiers. Read from the newest DuckDB snapshot, some seconds behind.
    """
    from streams.rights import explained  # noqa: PLC0415

    with snapshot() as con:
        found = explained.explain(con, user, domain, attribute, gate())
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    steps: Sequence[LineStep | StatementStep] = found.steps
    if isinstance(found, explained.Explained):
        steps = found.telling
    made = table(
        "when", "what happened", title=printable(f"{found.words}, in {domain}: {found.state}"), whole=("when",)
    )
    for step in steps:
        row(made, [day(step.occurred_at), step.sentence])
    console().print(made)
    if unrelated := len(found.steps) - len(steps):
        choices = counted(unrelated, "other choice", "other choices")
        print(f"Of {choices} a model judged that they have nothing to do with this.")
    if isinstance(found, explained.Explained) and found.unvouched_why is not None:
        print(f"No app and no model gets this line: it is {found.unvouched_why}, and nothing vouches for it.")


def _now(con: "DuckDBPyConnection", user: str, domain: str | None) -> "list[PolicySkill]":
    from streams.materializer import read  # noqa: PLC0415

    skills = read.skill(con, user, domain)
    if not skills:
        raise UnknownUser(unknown(con, user, domain))
    return skills


def _then(
    con: "DuckDBPyConnection", user: str, domain: str | None, at: datetime | None, version: int | None
) -> "list[PolicySkill]":
    """Fold the logs up to a version, or to the version that was in force."""
    from operators.history import at_version  # noqa: PLC0415
    from streams.materializer import read  # noqa: PLC0415

    diffs = by_domain(logged(con, user, domain))
    in_force = read.versions_at(con, user, at.replace(tzinfo=None)) if at is not None else dict.fromkeys(diffs, version)
    found = [
        skill
        for name, each in diffs.items()
        if (wanted := in_force.get(name)) is not None and (skill := at_version(each, wanted)) is not None
    ]
    if found:
        return found
    if at is None:
        raise NoSuchVersion(f"{user!r} has no version {version}: `sager policy log {user}` has them all")
    first = min(diff.occurred_at for each in diffs.values() for diff in each)
    raise NoSuchVersion(
        f"{user!r} had no skill at {at:%Y-%m-%d %H:%M:%S} UTC: the first change was at "
        f"{first.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
    )


def _show_skill(out: "Console", skill: "PolicySkill") -> None:
    from operators.render import SECTIONS  # noqa: PLC0415
    from operators.stated import live, unwanted  # noqa: PLC0415

    vouching, silent = gate(), unwanted(live(skill, datetime.now(UTC)))
    title = f"{skill.user_id} · {skill.domain} · version {skill.version}" + (" · frozen" if skill.frozen else "")
    out.print(printable(title), style="bold", markup=False)
    print(f"learned from {skill.contrasts} contrasts, the last at {skill.occurred_at:%Y-%m-%d %H:%M:%S} UTC")
    more = ["source", "id"] * (out.width >= WIDE)
    groups = {
        heading: [line for line in skill.attributes if line.kind is kind and line.tier]
        for kind, heading in SECTIONS.items()
    } | {SILENT: [line for line in skill.attributes if not line.tier]}
    for heading, lines in groups.items():
        if lines:
            lines.sort(key=lambda line: (-line.tier, -line.confirmed_at, -line.support, line.attribute_id))
            counts = ("tier", "taken", "chance")
            made = table(heading, *counts, *more, whole=(*counts, "id"))
            for line in lines:
                is_unwanted = line.attribute_id in silent
                style = "dim" if is_unwanted else {0: "dim", 1: "dim", 3: "bold"}.get(line.tier)
                row(made, _cells(line, more, vouching, is_unwanted=is_unwanted), style)
            out.print(made)
    show_said(out, skill)
    strategy = []
    if skill.strategy.must_include:
        strategy.append(f"must include: {', '.join(skill.strategy.must_include)}")
    if skill.strategy.tie_breaker:
        strategy.append(f"tie breaker: {skill.strategy.tie_breaker}")
    if strategy:
        out.print(printable(f"strategy: {'; '.join(strategy)}"), markup=False)
    out.print()


def _cells(line: "Attribute", more: list[str], vouching: "Vouching", *, is_unwanted: bool) -> list[object]:
    """Return the line's cells. In a narrow terminal its id is a line of its own, so that it can be copied whole."""
    from operators.evidence import is_counted  # noqa: PLC0415
    from schemas import ONE  # noqa: PLC0415

    words = f"{line.value} ({line.dimension})"
    marks = ["pinned"] * line.pinned + ["unvouched"] * (vouching.of_line(line) is not None) + ["unwanted"] * is_unwanted
    source = ", ".join([line.source.value, *marks])
    counts = (f"{line.taken / ONE:.1f}", f"{line.expected / ONE:.1f}") if is_counted(line) else ("", "")
    return [
        words if more else f"{words} · {source}\n{line.attribute_id}",
        line.tier,
        *counts,
        *[source, line.attribute_id][: len(more)],
    ]
