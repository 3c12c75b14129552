"""`sager policy show`."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli.options import AsJson, Domain, User, examples
from streams.cli.output import console, print_json, printable, row, table
from streams.cli.policy.reading import by_domain, snapshot
from streams.cli.policy.said import show_said
from streams.cli.policy.unvouched import gate
from streams.exceptions import StreamsError
from streams.rights.reading import NoSuchVersion, UnknownUser, logged, unknown
from streams.shown import plain

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from rich.console import Console

    from operators.vouch import Vouching
    from schemas import Attribute, PolicySkill

WIDE, WIDEST = 110, 150
"""Widths of a terminal from which ids, and then evidence, have columns of their own."""
MOMENTS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S"]


SILENT = "Counted, says nothing yet"


class Format(StrEnum):
    """How a skill is printed."""

    TEXT = "text"
    JSON = "json"
    SKILL = "skill"


class WhichSkill(StreamsError, ValueError):
    """One skill was asked for, and the user has several."""


def register(group: typer.Typer) -> None:
    """Add the verb."""
    group.command(
        "show",
        epilog=examples(
            "sager policy show ann",
            "sager policy show ann --domain films --at 2026-01-31",
            "sager policy show ann --domain films --format skill > SKILL.md",
        ),
    )(show)


def show(
    user: User,
    domain: Domain = None,
    at: Annotated[
        datetime | None, typer.Option(help="As it was at this moment, in UTC.", formats=MOMENTS, metavar="TIME")
    ] = None,
    version: Annotated[int | None, typer.Option(help="As it was at this version; 0: the seed.", min=0)] = None,
    layout: Annotated[
        Format, typer.Option("--format", help="skill: a SKILL.md that an agent can load.", metavar="text|json|skill")
    ] = Format.TEXT,
    as_json: AsJson = False,
) -> None:
    """Print a user's skill, with the id of each line.

    `taken` says how often what a line says was lately taken, `chance` how often that was to be expected of somebody who
    chooses blindly. Lines that were not taken more often than that come last: they say nothing yet. Lines marked
    `unvouched` are shown to people only: no slim skill, no prompt and no SKILL.md has them. Then comes what the person
    said, in their own words and for how long it holds, and what their newest sessions add.

    Read from the newest DuckDB snapshot, so it is some seconds behind. With --json: a list, one skill per domain.
    """
    if at is not None and version is not None:
        raise typer.BadParameter("--at and --version both say which version: give one of them")
    with snapshot() as con:
        skills = _then(con, user, domain, at, version) if at or version is not None else _now(con, user, domain)
    if as_json or layout is Format.JSON:
        print_json([plain(skill) for skill in skills])
    elif layout is Format.SKILL:
        _print_document(skills)
    else:
        out = console()
        for skill in skills:
            _show_skill(out, skill)


def _now(con: "DuckDBPyConnection", user: str, domain: str | None) -> "list[PolicySkill]":
    from streams.materializer import read  # noqa: PLC0415

    skills = read.skill(con, user, domain)
    if not skills:
        raise UnknownUser(unknown(con, user, domain))
    return skills


def _then(
    con: "DuckDBPyConnection", user: str, domain: str | None, at: datetime | None, version: int | None
) -> "list[PolicySkill]":
    """The skills by folding the log up to a version, or to the one that was in force."""
    from operators.history import at_version  # noqa: PLC0415
    from streams.materializer import read  # noqa: PLC0415

    diffs = by_domain(logged(con, user, domain))
    in_force = read.versions_at(con, user, at.replace(tzinfo=None)) if at is not None else dict.fromkeys(diffs, version)
    found = [
        skill
        for name, each in diffs.items()
        if (wanted := in_force.get(name)) is not None and (skill := at_version(each, wanted)) is not None
    ]
    if not found:
        first = min(diff.occurred_at for each in diffs.values() for diff in each)
        raise NoSuchVersion(
            f"{user!r} has no version {version}: `sager policy log {user}` has them all"
            if at is None
            else f"{user!r} had no skill at {at:%Y-%m-%d %H:%M:%S} UTC: the first change was at "
            f"{first.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
        )
    return found


def _print_document(skills: "list[PolicySkill]") -> None:
    from operators.skill_document import skill_document  # noqa: PLC0415

    if len(skills) > 1:
        domains = ", ".join(skill.domain for skill in skills)
        raise WhichSkill(f"a SKILL.md is of one domain, and there are {domains}: say which with --domain")
    print(skill_document(skills[0], gate()), end="")


def _show_skill(out: "Console", skill: "PolicySkill") -> None:
    from operators.render import SECTIONS  # noqa: PLC0415
    from operators.stated import live, unwanted  # noqa: PLC0415

    vouching, silent = gate(), unwanted(live(skill, datetime.now(UTC)))
    title = f"{skill.user_id} · {skill.domain} · version {skill.version}" + (" · frozen" if skill.frozen else "")
    out.print(printable(title), style="bold", markup=False)
    print(f"learned from {skill.contrasts} contrasts, the last at {skill.occurred_at:%Y-%m-%d %H:%M:%S} UTC")
    more = ["source", "id"] * (out.width >= WIDE) + ["evidence"] * (out.width >= WIDEST)
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
    strategy = skill.strategy
    told = [
        f"must include: {', '.join(strategy.must_include)}" if strategy.must_include else "",
        f"tie breaker: {strategy.tie_breaker}" if strategy.tie_breaker else "",
    ]
    if any(told):
        out.print(printable("strategy: " + "; ".join(filter(None, told))), markup=False)
    out.print()


def _cells(line: "Attribute", more: list[str], vouching: "Vouching", *, is_unwanted: bool) -> list[object]:
    """The line's cells.

    In a narrow terminal its source stands behind its words and its id below them, so that it can be copied whole.
    """
    words = f"{line.value} ({line.dimension})"
    marks = ["pinned"] * line.pinned + ["unvouched"] * (vouching.of_line(line) is not None) + ["unwanted"] * is_unwanted
    source = ", ".join([line.source.value, *marks])
    items = dict.fromkeys(str(e.item_id or e.event_id) for e in line.evidence)
    return [
        words if more else f"{words} · {source}\n{line.attribute_id}",
        *(line.tier, *_counts(line)),
        *[source, line.attribute_id, ", ".join(items)][: len(more)],
    ]


def _counts(line: "Attribute") -> tuple[str, str]:
    """How often a line was taken and was to be expected; nothing for one that is not counted yet."""
    from operators.evidence import is_counted  # noqa: PLC0415
    from schemas import ONE  # noqa: PLC0415

    return (f"{line.taken / ONE:.1f}", f"{line.expected / ONE:.1f}") if is_counted(line) else ("", "")
