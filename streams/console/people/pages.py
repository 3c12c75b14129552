"""Finding a person, and the page of one."""

from datetime import UTC, datetime

from duckdb import DuckDBPyConnection
from starlette.responses import Response

from streams.console.pages import Section
from streams.console.people.card_shown import card_shown
from streams.console.people.reading import Person, person
from streams.console.visit import Visit
from streams.http.problems import Problem
from streams.http.tokens import EVERYBODY, Scope
from streams.settings import ReasonerName
from streams.vouching import vouching_of

PEOPLE = Section("People")
READERS = (Scope.READ_ALL, Scope.READ_USER)
UNDER = "/people"
MOST_FOUND = 50


@PEOPLE.get("/people", needs=READERS, nav="Find a person", icon="people")
async def people(visit: Visit) -> Response:
    """Those whose id begins with what was typed; a token for one person goes straight there."""
    token = visit.token
    lists = visit.may(Scope.READ_ALL, EVERYBODY)
    if not lists and token.user not in (None, EVERYBODY):
        return visit.go("/person", user=token.user)
    begins = visit.query.get("user", "")
    found: list[str] = []
    if lists:
        found = await visit.read(lambda: visit.api.snapshot.beginning_with(begins, MOST_FOUND + 1))
    return visit.page(
        "people/people.html", begins=begins, found=found[:MOST_FOUND], more=len(found) > MOST_FOUND, lists=lists
    )


@PEOPLE.get("/person", needs=READERS, under=UNDER)
async def one(visit: Visit) -> Response:
    """What one skill of a person says."""
    user = visit.reads(visit.user())
    domain = visit.domain() if "domain" in visit.query else None
    now = datetime.now(UTC)

    def reading(con: DuckDBPyConnection) -> Person | None:
        return person(con, visit.api, user, domain, vouching_of(visit.api.settings), now)

    found = await visit.read(lambda: visit.api.snapshot.ask(reading))
    card, may = await card_shown(visit, user), rights(visit, user)
    if found is None:
        return visit.page(
            "people/nobody.html", 404 if card is None else 200, user=user, domain=domain, may=may, card=card
        )
    model_reads = visit.api.settings.reasoner is ReasonerName.LLM
    return visit.page(
        "people/person.html", user=user, person=found, card=card, may=may, now=now, model_reads=model_reads
    )


def rights(visit: Visit, user: str) -> dict[str, bool]:
    """What this token may do about the user: `change`, `forget` and `export`."""
    return {
        "change": visit.may(Scope.CHANGE_USER, user),
        "forget": visit.may(Scope.FORGET_USER, user),
        "export": visit.may(Scope.READ_USER, user),
    }


def nothing_of(domain: str) -> Problem:
    """The answer where a person has no skill in a domain; it says nothing of others."""
    return Problem(404, f"there is no skill of this person in {domain}, or the snapshot does not have it yet")
