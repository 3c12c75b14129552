"""Declares pages; the context of a request: its fields, permissions and responses."""

from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from duckdb import DuckDBPyConnection
from pydantic import Field, TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from schemas.base import AttributeId, DomainField, UserId, UserIdField
from streams.console.rendering import address, render
from streams.console.security import BrowserSession
from streams.http.api import Api
from streams.http.problems import Problem
from streams.http.routing import refuse
from streams.http.tokens import Scope, Token

READERS = (Scope.READ_ALL, Scope.READ_USER)
MOST_NOTICES = 8
ENTRIES = 40  # versions on one page of a log
_Result = TypeVar("_Result")
_USER: TypeAdapter[UserId] = TypeAdapter(UserIdField)
_DOMAIN: TypeAdapter[str] = TypeAdapter(DomainField)
_LINE: TypeAdapter[str] = TypeAdapter(AttributeId)
_NUMBER: TypeAdapter[int] = TypeAdapter(Annotated[int, Field(ge=0, le=1_000_000_000)])


@dataclass(frozen=True)
class Page:
    """A page or form target below /console."""

    method: str
    path: str
    needs: frozenset[Scope]  # the token needs one of them; the handler checks the user
    handler: "Handler"
    under: str = ""  # the page to highlight in the navigation instead


PAGES: list[Page] = []
# Paths, names and icons by section.
NAVIGATION = {
    "People": [("/people", "Find a person", "people")],
    "Operate": [("/live", "Live", "pulse"), ("/letters", "Dead letters", "letter")],
    "Analyse": [("/query", "Query", "query")],
}


def page(method: str, path: str, *needs: Scope, under: str = "") -> Callable[["Handler"], "Handler"]:
    """Declare a page, whose scopes and forms the application checks."""

    def declare(handler: Handler) -> Handler:
        PAGES.append(Page(method, path, frozenset(needs), handler, under))
        return handler

    return declare


@dataclass(frozen=True)
class PageContext:
    """A signed-in browser's request, with its form's or address's fields.

    Methods that read a field raise a problem if it is missing or invalid.
    """

    request: Request
    api: Api
    session: BrowserSession
    token: Token
    page: Page
    fields: dict[str, str]

    def navigation(self) -> dict[str, list[tuple[str, str, str]]]:
        """Return the pages that this token opens, by section."""
        paths = {each.path for each in PAGES if each.needs & self.token.scopes}
        found = {title: [each for each in pages if each[0] in paths] for title, pages in NAVIGATION.items()}
        return {title: pages for title, pages in found.items() if pages}

    async def read(self, query: Callable[[DuckDBPyConnection], _Result]) -> _Result:
        """Run a query on the newest snapshot."""
        return await self.api.query(self.token, query)

    def slice_log(
        self, versions: Sequence[_Result], number: Callable[[_Result], int]
    ) -> tuple[Sequence[_Result], dict[str, Any]]:
        """Return one page of a log, and its links' version numbers."""
        before = self.number("before") if "before" in self.fields else None
        until = [each for each in versions if before is None or number(each) < before]
        older = number(until[-ENTRIES]) if len(until) > ENTRIES else None
        return until[-ENTRIES:], {"before": before, "older": older}

    def user(self, scope: Scope | None = None) -> UserId:
        """Return the user in the fields if the token covers them.

        The token needs the scope; without one, it must be allowed to read.
        """
        user = self._field(_USER, "user")
        if not (self.token.can_read(user) if scope is None else self.token.allows(scope, user)):
            raise refuse(READERS if scope is None else (scope,))
        return user

    def domain(self) -> str:
        """Return the domain in the fields."""
        return self._field(_DOMAIN, "domain")

    def line(self) -> str:
        """Return the line id in the fields."""
        return self._field(_LINE, "line")

    def number(self, name: str) -> int:
        """Return a whole number in the fields."""
        return self._field(_NUMBER, name)

    def choice(self, name: str, known: Container[str]) -> str:
        """Return one of the known values in the fields."""
        value = self.fields.get(name, "")
        if value not in known:
            raise Problem(400, f"the form has no {name} of the console")
        return value

    def _field(self, kind: TypeAdapter[_Result], name: str) -> _Result:
        if name not in self.fields:
            raise Problem(400, f"the address lacks {name}")
        try:
            return kind.validate_python(self.fields[name])
        except ValidationError:  # its message would quote the value
            raise Problem(400, f"{name} is not valid") from None

    def render(self, template: str, status: int = 200, **values: Any) -> Response:
        """Render a template with this context and the session's notices."""
        notices, self.session.notices[:] = list(self.session.notices), []
        return HTMLResponse(render(template, ctx=self, notices=notices, **values), status)

    def redirect(self, path: str, notice: str = "", kind: str = "good", **query: Any) -> Response:
        """Redirect to a page with a good, wait or bad notice."""
        if notice:
            self.session.notices.append((notice, kind))
            del self.session.notices[:-MOST_NOTICES]
        return RedirectResponse(address(path, **query), 303)


Handler = Callable[[PageContext], Awaitable[Response]]
