"""Declares and renders pages; the context of a request."""

import hashlib
import re
from collections.abc import Awaitable, Callable, Container, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import urlencode

from duckdb import DuckDBPyConnection
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from pydantic import Field, TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from operators.learning.evidence import format_count, is_counted, luck_odds
from schemas import AttributeId, DomainField, Tier, UserId, UserIdField
from streams.console.security import BrowserSession
from streams.http.api import Api
from streams.http.problems import Problem
from streams.http.routing import refuse
from streams.http.skills import READERS
from streams.http.tokens import Scope, Token
from streams.views.phrases import day

ROOT = "/console"
STATIC = Path(__file__).parent / "static"
LOADER = FileSystemLoader(Path(__file__).parent / "templates")
HTMX = "vendor/htmx-2.0.11.min.js"
SURE = {Tier.HIGH: "sure", Tier.MEDIUM: "likely", Tier.LOW: "first sign", Tier.SILENT: "says nothing yet"}
_STARRED = re.compile(r"\*([^*]+)\*")
MAX_NOTICES = 8
PAGE_SIZE = 40  # versions on one page of a log
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
    scopes: frozenset[Scope]  # the token needs one of them; the handler checks the user
    handler: "Handler"


PAGES: list[Page] = []


def page(method: str, path: str, *scopes: Scope) -> Callable[["Handler"], "Handler"]:
    """Declare a page, whose scopes and forms the application checks."""

    def declare(handler: Handler) -> Handler:
        PAGES.append(Page(method, path, frozenset(scopes), handler))
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

    @property
    def reads_people(self) -> bool:
        """True if the token opens the pages of people."""
        return not self.token.scopes.isdisjoint(READERS)

    async def read(self, query: Callable[[DuckDBPyConnection], _Result]) -> _Result:
        """Run a query on the newest snapshot."""
        return await self.api.query(self.token, query)

    def slice_log(
        self, versions: Sequence[_Result], number: Callable[[_Result], int]
    ) -> tuple[Sequence[_Result], dict[str, Any]]:
        """Return one page of a log, and its links' version numbers."""
        before = self.number("before") if "before" in self.fields else None
        earlier = [each for each in versions if before is None or number(each) < before]
        older = number(earlier[-PAGE_SIZE]) if len(earlier) > PAGE_SIZE else None
        return earlier[-PAGE_SIZE:], {"before": before, "older": older}

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
            del self.session.notices[:-MAX_NOTICES]
        return RedirectResponse(address(path, **query), 303)


Handler = Callable[[PageContext], Awaitable[Response]]


def address(path: str, **query: Any) -> str:
    """Return the address of a page."""
    # Ids are in the query: in the path, `..` or `/` in an id would change it.
    given = urlencode({name: value for name, value in query.items() if value is not None})
    return f"{ROOT}{path}?{given}" if given else f"{ROOT}{path}"


@cache
def static(name: str) -> str:
    """Return the address of a static file, with its digest."""
    # Browsers cache it for a year; a new digest makes them load it again.
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"{ROOT}/static/{name}?v={digest}"


def render(template: str, **values: Any) -> str:
    """Render a template; a missing value is an error."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    trimmed: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True}
    environment = Environment(loader=LOADER, autoescape=True, undefined=StrictUndefined, **trimmed)
    environment.globals |= {"address": address, "static": static, "Scope": Scope, "HTMX": HTMX}
    environment.filters |= {"day": day, "moment": moment, "story": story, "text": "{:,}".format}
    environment.filters |= {"sure": SURE.__getitem__, "choices": format_count, "counted": is_counted, "odds": luck_odds}
    return environment


def moment(when: datetime) -> str:
    """Format a date and a time of day in UTC."""
    return f"{day(when)}, {when:%H:%M} UTC"


def story(sentence: str) -> Markup:
    """Format a sentence as HTML, with `*titles*` in italics.

    >>> story("You took *A <b>* and left it.")
    Markup('You took <em>A &lt;b&gt;</em> and left it.')
    """
    return Markup(_STARRED.sub(r"<em>\1</em>", str(escape(sentence))))  # noqa: S704 - escaped before
