"""One request to a page: who asks, what for, and the ways to answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from schemas.fields import DomainField, UserIdField
from streams.console import rendering
from streams.console.addresses import address
from streams.console.pages import Page, Section
from streams.console.session import Session
from streams.http.api import Api
from streams.http.problems import Problem
from streams.http.routing import refuse
from streams.http.tokens import Scope, Token

MOST_SAID = 8
"""What is kept for the next page to tell."""

_Result = TypeVar("_Result")
_USER: TypeAdapter[str] = TypeAdapter(UserIdField)
_DOMAIN: TypeAdapter[str] = TypeAdapter(DomainField)
_NUMBER: TypeAdapter[int] = TypeAdapter(Annotated[int, Field(ge=0, le=1_000_000_000)])


@dataclass(frozen=True)
class Visit:
    """One request to a page of somebody who is signed in.

    Attributes:
        request: the request.
        api: the deployment.
        session, token: who asks.
        sections: all pages, for the navigation.
        here: the page that is asked for.
        query: the parameters of the address, each there once.
        form: the fields of the form, each there once; empty for a page.
    """

    request: Request
    api: Api
    session: Session
    token: Token
    sections: Sequence[Section]
    here: Page
    query: dict[str, str]
    form: dict[str, str]

    @property
    def by_htmx(self) -> bool:
        """Whether a script of the page asks, which takes a part of the answer."""
        return self.request.headers.get("hx-request") == "true"

    @property
    def place(self) -> str:
        """The page that the navigation marks."""
        return self.here.under or self.here.path

    async def read(self, do: Callable[[], _Result]) -> _Result:
        """The result of `do`, which reads the snapshot, run in one of a few threads."""
        return await self.api.read(self.token, do)

    async def change(self, user: str, do: Callable[[], _Result]) -> _Result:
        """The result of `do`, which waits for a worker to change something of this user's, run likewise."""
        return await self.api.change(self.token, user, do)

    def reads(self, user: str) -> str:
        """The user, who may be read.

        Raises:
            Problem: this token may not read the user.
        """
        if not self.token.may_read(user):
            raise refuse((Scope.READ_USER, Scope.READ_ALL))
        return user

    def may(self, scope: Scope, user: str) -> bool:
        """Whether this token has the scope for the user."""
        return self.token.may(scope, user)

    def demands(self, scope: Scope, user: str) -> str:
        """The user, for whom this token has the scope.

        Raises:
            Problem: it has not.
        """
        if not self.may(scope, user):
            raise refuse((scope,))
        return user

    def user(self, values: dict[str, str] | None = None) -> str:
        """The user that the address, or a form, names.

        Raises:
            Problem: it names none, or what cannot be a user's id.
        """
        return parsed(_USER, self._named("user", values), "user")

    def domain(self, values: dict[str, str] | None = None) -> str:
        """The domain that the address, or a form, names.

        Raises:
            Problem: it names none, or what cannot be a domain.
        """
        return parsed(_DOMAIN, self._named("domain", values), "domain")

    def number(self, name: str, values: dict[str, str] | None = None) -> int:
        """A whole number that the address, or a form, names.

        Raises:
            Problem: it names none, or it is none.
        """
        return parsed(_NUMBER, self._named(name, values), name)

    def _named(self, name: str, values: dict[str, str] | None) -> str:
        found = (self.query if values is None else values).get(name)
        if found is None:
            raise Problem(400, f"the address lacks {name}")
        return found

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """A page made from a template.

        Args:
            template: its path below `templates`.
            status: the HTTP status.
            **values: what the template knows, besides `visit`, `token`, `csrf` and `said`.
        """
        said, self.session.said[:] = list(self.session.said), []
        known = {"visit": self, "token": self.token, "csrf": self.session.csrf, "said": said}
        return HTMLResponse(rendering.render(template, known | values), status)

    def go(self, path: str, said: str = "", kind: str = "good", **query: Any) -> Response:
        """Goes to another page, as after a form that did what it was to.

        Args:
            path: below /console.
            said: what the page tells at its top.
            kind: good, wait or bad.
            **query: the parameters of its address.
        """
        if said:
            self.session.said.append((said, kind))
            del self.session.said[:-MOST_SAID]  # whoever sends forms and looks at no page
        return RedirectResponse(address(path, **query), 303)

    def nav(self) -> list[tuple[str, list[Page]]]:
        """The navigation: what this token may come to."""
        found = [
            (section.title, [page for page in section.pages if page.nav and page.is_for(self.token.scopes)])
            for section in self.sections
        ]
        return [(title, pages) for title, pages in found if pages]


def parsed(form: TypeAdapter[_Result], value: Any, name: str) -> _Result:
    """The value in the form that it must have.

    Raises:
        Problem: it does not; the problem does not quote it.
    """
    try:
        return form.validate_python(value)
    except ValidationError:
        raise Problem(400, f"{name} is not valid") from None
