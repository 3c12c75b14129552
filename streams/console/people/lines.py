"""The page of one line or statement: its state, its life as a chart, and the reasons for it."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any

from duckdb import DuckDBPyConnection
from starlette.responses import Response

from operators.merge import merge
from schemas import ONE, SkillDiff
from streams.console.board.figures import Figure
from streams.console.formats import sure
from streams.console.pages import READERS, Visit, page
from streams.console.people.skill import current, reasons_held_back, rights, stated
from streams.http.problems import Problem
from streams.materializer import read
from streams.rights.explained import ExplainedStatement, UnknownLine, explain
from streams.rights.reading import UnknownUser
from streams.rights.sentences import day
from streams.vouching import vouching_of

MOST_POINTS = 300


@page("GET", "/line", *READERS, under="/people")
async def line(visit: Visit) -> Response:
    """One line of a skill, or one statement."""
    user, domain, named = visit.user(), visit.domain(), visit.line()
    found = await visit.read(lambda con: _read(visit, con, user, domain, named))
    return visit.show("line.html", user=user, domain=domain, named=named, may=rights(visit, user), **found)


def _read(visit: Visit, con: DuckDBPyConnection, user: str, domain: str, named: str) -> dict[str, Any]:
    vouching, now = vouching_of(visit.api.settings), datetime.now(UTC)
    skill = current(visit.api, user, domain, next(iter(read.skill(con, user, domain)), None))
    if skill is None:
        raise no_skill(domain)
    try:
        history = explain(con, user, domain, named, vouching, now)
    except (UnknownUser, UnknownLine):  # the snapshot does not have the last seconds yet
        history = None
    attribute = next((each for each in skill.attributes if each.attribute_id == named), None)
    statement = stated(skill, named, now)
    if history is None and attribute is None and statement is None:
        raise Problem(404, "no version of this skill has such a line")
    found: dict[str, Any] = {"history": history, "life": None, "titles": {}}
    if isinstance(history, ExplainedStatement) or (attribute is None and statement is not None):
        return found | {"is_statement": True, "line": statement}
    if history is not None:
        diffs, names = read.diffs(con, user, domain), {named, *(step.attribute_id for step in history.steps)}
        rankings = [step.ranking for step in history.steps if step.ranking]
        titles = read.titles(con, user, sorted({item for each in rankings for item in each.shown}))
        found |= {"life": life(diffs, names), "titles": titles}
    held_back = reasons_held_back([attribute], vouching) if attribute else {}
    return found | {"is_statement": False, "line": attribute, "held_back": held_back}


def life(diffs: Sequence[SkillDiff], names: Collection[str]) -> Figure:
    """A line after each version: its counts and its tier.

    Args:
        diffs: all diffs of the skill, in order.
        names: the ids that the line had, one after the other.
    """
    skill, rows = None, list[tuple[Any, ...]]()
    for diff in diffs:
        skill = merge(skill, diff)
        for each in skill.attributes:
            if each.attribute_id in names:
                counts = round(each.taken / ONE, 2), round(each.expected / ONE, 2)
                rows.append((str(diff.version), day(diff.occurred_at), *counts, sure(each.tier)))
    return Figure("life", ("Version", "Day", "Taken", "By chance", "How sure"), rows[-MOST_POINTS:][::-1])


def no_skill(domain: str) -> Problem:
    """The answer if a user has no skill in a domain; it reveals nothing about others."""
    return Problem(404, f"there is no skill of this person in {domain}, or the snapshot does not have it yet")
