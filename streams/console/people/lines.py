"""The page of one line, or of something that the person said: what it is, its life, and why it is there."""

from datetime import UTC, datetime
from typing import Any

from duckdb import DuckDBPyConnection
from pydantic import TypeAdapter
from starlette.responses import Response

from schemas import PolicySkill
from schemas.fields import AttributeId
from streams.console.people import life
from streams.console.people.pages import PEOPLE, READERS, UNDER, nothing_of, rights
from streams.console.people.reading import Line, Wish, newest, shown, wish
from streams.console.visit import Visit, parsed
from streams.http.problems import Problem
from streams.materializer import read
from streams.rights.explained import Explained, ExplainedStatement, MovedStep, UnknownLine, explain
from streams.rights.reading import UnknownUser
from streams.vouching import vouching_of

MOST_STEPS = 10
"""How many steps are told at once; the older ones are folded away."""
LINE: TypeAdapter[str] = TypeAdapter(AttributeId)


@PEOPLE.get("/line", needs=READERS, under=UNDER)
async def line(visit: Visit) -> Response:
    """One line of a skill, or one statement."""
    user, domain = visit.reads(visit.user()), visit.domain()
    named = parsed(LINE, visit.query.get("line", ""), "line")

    def reading(con: DuckDBPyConnection) -> dict[str, Any]:
        return _read(visit, con, user, domain, named)

    found = await visit.read(lambda: visit.api.snapshot.ask(reading))
    is_said = isinstance(found["told"], ExplainedStatement) or isinstance(found["stands"], Wish)
    template = "people/statement.html" if is_said else "people/line.html"
    return visit.page(
        template, user=user, domain=domain, named=named, may=rights(visit, user), most=MOST_STEPS, **found
    )


def _read(visit: Visit, con: DuckDBPyConnection, user: str, domain: str, named: str) -> dict[str, Any]:
    api = visit.api
    vouching, now = vouching_of(api.settings), datetime.now(UTC)
    skills = read.skill(con, user, domain)
    skill = newest(api, skills[0]) if skills else api.live.skill(user, domain)
    if skill is None:
        raise nothing_of(domain)
    try:
        told = explain(con, user, domain, named, vouching, now)
    except (UnknownUser, UnknownLine):
        told = None
    stands: Line | Wish | None = _line(skill, named, vouching) or _wish(skill, named, now)
    if told is None:
        # A line of the last seconds: the log of the snapshot does not have it yet.
        if stands is None:
            raise Problem(404, "no version of this skill has such a line")
        return {"told": None, "stands": stands, "skill": skill, "life": [], "chart": None, "rows": [], "titles": {}}
    if isinstance(told, ExplainedStatement):
        return {"told": told, "stands": stands, "skill": skill}
    names = {named, *(step.attribute_id for step in told.steps)}
    points = life.points(read.diffs(con, user, domain), names)
    return {
        "told": told,
        "stands": stands,
        "skill": skill,
        "life": points,
        "chart": life.chart(points) if points else None,
        "rows": life.rows(points),
        "titles": _titles(con, user, told),
    }


def _line(skill: PolicySkill, named: str, vouching: Any) -> Line | None:
    return next((each for each in shown(skill.attributes, vouching) if each.line.attribute_id == named), None)


def _wish(skill: PolicySkill, named: str, now: datetime) -> Wish | None:
    return next((wish(skill, said, now) for said in skill.stated if said.statement_id == named), None)


def _titles(con: DuckDBPyConnection, user: str, told: Explained) -> dict[str, str]:
    """The titles of everything in the lists that the steps are about."""
    items = {item for step in told.steps if isinstance(step, MovedStep) and step.ranking for item in step.ranking.shown}
    return read.titles(con, user, sorted(items))
