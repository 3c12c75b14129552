"""Why a line is in a skill."""

from typing import Annotated

from duckdb import DuckDBPyConnection
from fastapi import Path, Response

from streams.http.answer import as_json
from streams.http.api import TheApi
from streams.http.auth import TheToken, needs
from streams.http.params import DECODED, DomainPath, UserPath
from streams.http.problems import Problem
from streams.http.strict import router as strict_router
from streams.http.tokens import Scope
from streams.rights.explained import Explained, ExplainedStatement, UnknownLine, explain
from streams.rights.reading import UnknownUser
from streams.vouching import vouching_of

MAX_ID_CHARS = 400

router = strict_router("skills")

LinePath = Annotated[
    str, DECODED, Path(alias="attribute", min_length=1, max_length=MAX_ID_CHARS, description="Of a line or statement.")
]


@router.get(
    "/v1/users/{user}/domains/{domain}/lines/{attribute}",
    dependencies=[needs(Scope.READ_USER, Scope.READ_ALL)],
    response_model=Explained | ExplainedStatement,
)
async def explain_line(
    api: TheApi, token: TheToken, user: UserPath, domain: DomainPath, attribute: LinePath
) -> Response:
    """Explains one line or statement of a skill: what it is now, and its steps, each with a plain sentence.

    As `sager policy explain --json`. A line that is gone or was reworded is explained too.
    """

    def read(con: DuckDBPyConnection) -> Explained | ExplainedStatement:
        return explain(con, user, domain, attribute, vouching_of(api.settings))

    try:
        found = await api.read(token, lambda: api.snapshot.ask(read))
    except UnknownUser:
        raise Problem(404, "no skill of this user in this domain is in the snapshot") from None
    except UnknownLine:
        raise Problem(404, "no version of this skill has such a line or statement") from None
    return as_json(found.model_dump(mode="json"))
