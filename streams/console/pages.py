"""How a page is declared, and one visit to it: its fields, its permissions, and the ways to answer."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from duckdb import DuckDBPyConnection
from pydantic import Field, TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from schemas.fields import AttributeId, DomainField, UserIdField
from streams.console.rendering import address, render
from streams.console.session import Session
from streams.http.api import Api
from streams.http.auth import refuse
from streams.http.problems import Problem
from streams.http.tokens import Scope, Token

READERS = (Scope.READ_ALL, Scope.READ_USER)
MOST_NOTICES = 8
_Result = TypeVar("_Result")
_USER: TypeAdapter[str] = TypeAdapter(UserIdField)
_DOMAIN: TypeAdapter[str] = TypeAdapter(DomainField)
_LINE: TypeAdapter[str] = TypeAdapter(AttributeId)
_NUMBER: TypeAdapter[int] = TypeAdapter(Annotated[int, Field(ge=0, le=1_000_000_000)])


@dataclass(frozen=True)
class Page:
    """A page, or the target of a form.

    Attributes:
        method: GET or POST.
        path: below /console.
        needs: the token must have one of these scopes; the handler checks for which user.
        handler: answers a visit.
        nav, icon: its name and icon in the navigation; empty: it is not there.
        under: the path of the page that the navigation marks instead.
    """

    method: str
    path: str
    needs: frozenset[Scope]
    handler: "Handler"
    nav: str = ""
    icon: str = ""
    under: str = ""


class Section:
    """Pages under one heading of the navigation, declared by decorators.

    Args:
        title: the heading.
    """

    def __init__(self, title: str) -> None:
        self.title, self.pages = title, list[Page]()

    def get(
        self, path: str, *needs: Scope, nav: str = "", icon: str = "", under: str = ""
    ) -> Callable[["Handler"], "Handler"]:
        """Declare a page."""
        return self._add("GET", path, needs, nav, icon, under)

    def post(self, path: str, *needs: Scope, under: str = "") -> Callable[["Handler"], "Handler"]:
        """Declare the target of a form; the application checks that the form is the session's own."""
        return self._add("POST", path, needs, "", "", under)

    def _add(self, method: str, path: str, needs: tuple[Scope, ...], *rest: str) -> Callable[["Handler"], "Handler"]:
        def add(handler: Handler) -> Handler:
            self.pages.append(Page(method, path, frozenset(needs), handler, *rest))
            return handler

        return add


PEOPLE, OPERATE, ANALYSE = SECTIONS = (Section("People"), Section("Operate"), Section("Analyse"))


@dataclass(frozen=True)
class Visit:
    """One request of a signed-in browser.

    Attributes:
        request, api, session, token: the request, the deployment, and the owner of the session.
        page: the page.
        fields: of the form; for a page without a form, of the address.
    """

    request: Request
    api: Api
    session: Session
    token: Token
    page: Page
    fields: dict[str, str]

    @property
    def place(self) -> str:
        """The path that the navigation marks."""
        return self.page.under or self.page.path

    def nav(self) -> list[tuple[str, list[Page]]]:
        """The navigation: the pages that this token opens, by section."""
        found = [
            (each.title, [page for page in each.pages if page.nav and page.needs & self.token.scopes])
            for each in SECTIONS
        ]
        return [(title, pages) for title, pages in found if pages]

    async def read(self, query: Callable[[DuckDBPyConnection], _Result]) -> _Result:
        """Read the newest snapshot, in one of a few threads."""
        return await self.api.read(self.token, lambda: self.api.snapshot.ask(query))

    def may(self, scope: Scope, user: str) -> bool:
        """True if this token has the scope for the user."""
        return self.token.may(scope, user)

    def rights(self, user: str) -> dict[str, bool]:
        """The token's rights to change, forget and export a user."""
        scopes = {"change": Scope.CHANGE_USER, "forget": Scope.FORGET_USER, "export": Scope.READ_USER}
        return {name: self.may(scope, user) for name, scope in scopes.items()}

    def user(self, *scopes: Scope) -> str:
        """The user in the fields, for whom this token has all these scopes; by default, whom it may read.

        Raises:
            Problem: the field is missing or invalid, or the token lacks a scope.
        """
        user = self._field(_USER, "user")
        if not scopes and not self.token.may_read(user):
            raise refuse(READERS)
        for scope in scopes:
            if not self.may(scope, user):
                raise refuse((scope,))
        return user

    def domain(self) -> str:
        """The domain in the fields; a Problem if it is missing or invalid. So do the next two."""
        return self._field(_DOMAIN, "domain")

    def line(self) -> str:
        """The id of a line in the fields."""
        return self._field(_LINE, "line")

    def number(self, name: str) -> int:
        """A whole number in the fields."""
        return self._field(_NUMBER, name)

    def _field(self, kind: TypeAdapter[_Result], name: str) -> _Result:
        if name not in self.fields:
            raise Problem(400, f"the address lacks {name}")
        try:
            return kind.validate_python(self.fields[name])
        except ValidationError:  # its message would quote the value
            raise Problem(400, f"{name} is not valid") from None

    def show(self, template: str, status: int = 200, **values: Any) -> Response:
        """Answer with a template, which also gets the visit and the session's notices."""
        notices, self.session.notices[:] = list(self.session.notices), []
        return HTMLResponse(render(template, visit=self, notices=notices, **values), status)

    def go(self, path: str, notice: str = "", kind: str = "good", **query: Any) -> Response:
        """Redirect to another page, which shows the notice at its top.

        Args:
            path: below /console.
            notice: the outcome of a form.
            kind: good, wait or bad.
            **query: the fields of the address.
        """
        if notice:
            self.session.notices.append((notice, kind))
            del self.session.notices[:-MOST_NOTICES]
        return RedirectResponse(address(path, **query), 303)


Handler = Callable[[Visit], Awaitable[Response]]
