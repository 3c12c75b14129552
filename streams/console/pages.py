"""How pages are declared: a path, what it needs of a token, and its place in the navigation."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field

from starlette.responses import Response

from streams.http.tokens import Scope

Handler = Callable[..., Awaitable[Response]]
"""Makes the answer to a visit."""


@dataclass(frozen=True)
class Page:
    """One page, or what a form is sent to.

    Attributes:
        method: GET or POST.
        path: below /console, without parameters: what a page is about is in its query, where no id can be mistaken for
            a part of the path.
        needs: one of these scopes is needed. Whom a page is about, its handler checks: see `Visit.reads`.
        handler: makes the answer.
        nav: its name in the navigation; empty for a page that is not in it.
        icon: the name of its icon in `templates/icons.html`.
        under: the path of the page that the navigation marks while this one is seen, where that is another one.
    """

    method: str
    path: str
    needs: frozenset[Scope]
    handler: Handler
    nav: str = ""
    icon: str = ""
    under: str = ""

    def is_for(self, scopes: Collection[Scope]) -> bool:
        """Whether somebody with these scopes may come here."""
        return not self.needs.isdisjoint(scopes)


@dataclass
class Section:
    """Pages for one kind of reader, under one heading of the navigation.

    Example:
        >>> section = Section("People")
        >>> @section.get("/people", needs=[Scope.READ_ALL], nav="People", icon="people")
        ... async def people(visit: "Visit") -> Response: ...
        >>> section.pages[0].path
        '/people'
    """

    title: str
    pages: list[Page] = field(default_factory=list)

    def get(
        self, path: str, *, needs: Collection[Scope], nav: str = "", icon: str = "", under: str = ""
    ) -> Callable[[Handler], Handler]:
        """Declares a page."""
        return self._add("GET", path, needs, nav, icon, under)

    def post(self, path: str, *, needs: Collection[Scope], under: str = "") -> Callable[[Handler], Handler]:
        """Declares what a form is sent to; that the form is ours is checked before the handler is called."""
        return self._add("POST", path, needs, "", "", under)

    def _add(
        self, method: str, path: str, needs: Collection[Scope], nav: str, icon: str, under: str
    ) -> Callable[[Handler], Handler]:
        def added(handler: Handler) -> Handler:
            self.pages.append(Page(method, path, frozenset(needs), handler, nav, icon, under))
            return handler

        return added
