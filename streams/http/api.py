"""The API's routes: the scope that each requires, and its handler."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, TypeVar

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler
from pydantic import Field, TypeAdapter, ValidationError

from schemas import SkillDiff
from schemas.fields import DomainField, UserIdField
from streams.http import metrics
from streams.http.bodies import body_of
from streams.http.commands import Changes, command_of
from streams.http.gate import Gate
from streams.http.middleware import TOKEN, answering
from streams.http.problems import Problem, not_valid
from streams.http.snapshot import Snapshot
from streams.http.tokens import Scope, Token
from streams.http.work import Share, Threads
from streams.settings import Settings
from streams.shown import plain

BODY_BYTES = 16 * 1024
"""Maximum size of a request body; a command takes a few hundred bytes."""
LAST, MOST_LAST = 20, 200
PAGE, MOST_PAGE = 100, 1_000
READING, READING_WAITING = 4, 64
CHANGING, CHANGING_WAITING = 16, 0
"""Threads that carry out commands; each waits for a worker, with its own consumer. None may queue behind them, because
whoever waits longest for a worker would keep all others waiting."""
OF_A_TOKEN, OF_A_PERSON = 1, 4
"""At most half of all places are a token's, and a fifth a person's: see `Share`."""
OUTDATED_SECONDS = 10.0
"""How often an outdated snapshot is closed."""

_DIGITS = re.compile(r"[0-9]{1,6}")
_USER: TypeAdapter[str] = TypeAdapter(UserIdField)
_DOMAIN: TypeAdapter[str] = TypeAdapter(DomainField)
_LAST: TypeAdapter[int] = TypeAdapter(Annotated[int, Field(strict=True, ge=1, le=MOST_LAST)])
_PAGE: TypeAdapter[int] = TypeAdapter(Annotated[int, Field(strict=True, ge=1, le=MOST_PAGE)])

_Result = TypeVar("_Result")

Allows = Callable[[Token, str], bool]
"""Whether a token may use the route for this user; the user is empty if the route names none."""


@dataclass(frozen=True)
class Route:
    """One route of the API.

    Attributes:
        method: the HTTP method.
        path: the path template.
        needs: the scopes, one of which is required; for messages.
        allows: whether a token may use the route.
        handler: handles the request.
    """

    method: str
    path: str
    needs: tuple[Scope, ...]
    allows: Allows
    handler: Handler


class Api:
    """Handles the API's requests.

    Args:
        settings: the deployment.
        gate: authenticates requests and limits their rate.
    """

    def __init__(self, settings: Settings, gate: Gate) -> None:
        self._settings, self._gate = settings, gate
        self.snapshot = Snapshot(settings)
        self._changes = Changes(settings)
        self._reading = Threads("read", READING, READING_WAITING)
        self._changing = Threads("change", CHANGING, CHANGING_WAITING)
        one, all_users, change = (Scope.READ_USER, Scope.READ_ALL), (Scope.READ_ALL,), (Scope.CHANGE_USER,)
        self.routes = (
            Route("GET", "/v1/users", all_users, lambda token, _: Scope.READ_ALL in token.scopes, self._users),
            Route("GET", "/v1/users/{user}/skills", one, Token.may_read, self._skills),
            Route("GET", "/v1/users/{user}/skills/{domain}", one, Token.may_read, self._skill),
            Route("GET", "/v1/users/{user}/log", one, Token.may_read, self._log),
            Route("POST", "/v1/users/{user}/commands", change, Token.may_change, self._command),
            Route(
                "GET", "/v1/status", (Scope.OPERATE,), lambda token, _: Scope.OPERATE in token.scopes, self._status
            ),
        )  # fmt: skip

    def application(self) -> web.Application:
        """The aiohttp application."""
        app = web.Application(middlewares=[answering(self._gate)], client_max_size=BODY_BYTES)
        for route in self.routes:
            app.router.add_route(route.method, route.path, _guarded(route))
            metrics.SECONDS.labels(route.path)
        app.cleanup_ctx.append(self._close_outdated_snapshots)
        app.on_cleanup.append(self._close)
        app.on_response_prepare.append(_without_banner)
        return app

    async def _users(self, request: web.Request) -> web.Response:
        query = _query(request, "after", "limit")
        after = _checked(_USER, query["after"], "after") if "after" in query else ""
        most = _number(_PAGE, query.get("limit", str(PAGE)), "limit")
        found = await self._read(request, partial(self.snapshot.users, after, most))
        return _json({"users": found, "next": found[-1] if len(found) == most else None})

    async def _skills(self, request: web.Request) -> web.Response:
        _query(request)
        user = _user_of(request)
        found = await self._read(request, partial(self.snapshot.skills, user))
        if not found:
            raise Problem(404, "no skill of this user is in the snapshot")
        return _json({"skills": [plain(skill) for skill in found]})

    async def _skill(self, request: web.Request) -> web.Response:
        _query(request)
        user, domain = _user_of(request), _checked(_DOMAIN, request.match_info["domain"], "domain")
        found = await self._read(request, partial(self.snapshot.skills, user, domain))
        if not found:
            raise Problem(404, "no skill of this user in this domain is in the snapshot")
        return _json(plain(found[0]))

    async def _log(self, request: web.Request) -> web.Response:
        user, query = _user_of(request), _query(request, "domain", "last")
        domain = _checked(_DOMAIN, query["domain"], "domain") if "domain" in query else None
        last = _number(_LAST, query.get("last", str(LAST)), "last")
        found = await self._read(request, partial(self.snapshot.log, user, domain, last))
        if not found:
            raise Problem(404, "no version of such a skill is in the snapshot")
        return _json({"diffs": [diff.model_dump(mode="json") for diff in found]})

    async def _command(self, request: web.Request) -> web.Response:
        _query(request)
        user, token = _user_of(request), request[TOKEN]
        asked = body_of(request.headers.get("Content-Type"), await request.read())
        making = partial(command_of, asked, user, token.name, self.snapshot.history)
        command = await self._read(request, making)
        person = Share("person-share", user, OF_A_PERSON)
        diff = await self._changing.run(partial(self._changes.carry_out, command), _share_of(token), person)
        if diff is None:
            return _json({"event_id": command.event_id, "carried_out": False}, 202)
        refused = [each.model_dump(mode="json") for each in diff.refused]
        if refused and not diff.changes:
            raise Problem(409, "the command was refused", event_id=command.event_id, refused=refused)
        told = {"event_id": command.event_id, "carried_out": True, "version": diff.version, "refused": refused}
        return _json({**told, **_what_changed(diff, token.may_read(user))})

    async def _status(self, request: web.Request) -> web.Response:
        _query(request)
        found = await self._read(request, self.snapshot.status)
        return _json({"prefix": self._settings.prefix, "snapshot": found})

    async def _read(self, request: web.Request, do: Callable[[], _Result]) -> _Result:
        return await self._reading.run(do, _share_of(request[TOKEN]))

    async def _close_outdated_snapshots(self, _: web.Application) -> AsyncIterator[None]:
        """Closes outdated snapshots in the background, as there may be no request for hours."""

        async def periodically() -> None:
            while True:
                await asyncio.sleep(OUTDATED_SECONDS)
                await asyncio.to_thread(self.snapshot.close_outdated)

        task = asyncio.create_task(periodically())
        yield
        task.cancel()

    async def _close(self, _: web.Application) -> None:
        for threads in (self._reading, self._changing):
            threads.close()
        self.snapshot.close()


def _guarded(route: Route) -> Handler:
    """The handler, behind a check of the token's scope that precedes every look-up."""

    async def guarded(request: web.Request) -> web.StreamResponse:
        if not route.allows(request[TOKEN], request.match_info.get("user", "")):
            metrics.AUTH_FAILURES.labels("scope").inc()
            needs = " or ".join(route.needs)
            raise Problem(403, f"this token lacks the scope {needs} for that user")
        return await route.handler(request)

    return guarded


def _what_changed(diff: SkillDiff, may_read: bool) -> dict[str, Any]:
    """The diff, if the token may read the user: a skill's first diff has all its initial lines."""
    return {"diff": diff.model_dump(mode="json")} if may_read else {}


def _user_of(request: web.Request) -> str:
    user: str = _checked(_USER, request.match_info["user"], "user")
    return user


def _checked(adapter: "TypeAdapter[Any]", value: Any, name: str) -> Any:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        problem = not_valid(error)
        problem.more["errors"] = [{**each, "field": name} for each in problem.more["errors"]]
        raise problem from None


def _number(adapter: "TypeAdapter[Any]", text: str, name: str) -> int:
    """A number of a query. Its form is checked first, as `int` also reads "1_0", " 1 " and other scripts' digits."""
    number: int = _checked(adapter, int(text) if _DIGITS.fullmatch(text) else text, name)
    return number


def _query(request: web.Request, *names: str) -> dict[str, str]:
    """The query's parameters, each once and none but these; a proxy may read another one of two."""
    given = request.query
    if len(given) > len(set(given)) or not set(given) <= set(names):
        may = f"{' and '.join(names)}, once" if names else "none"
        raise Problem(422, f"the query has parameters that this path does not take: it takes {may}")
    return dict(given)


def _share_of(token: Token) -> Share:
    return Share("token-share", token.sha256, OF_A_TOKEN)


async def _without_banner(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.popall("Server", None)


def _json(body: Any, status: int = 200) -> web.Response:
    return web.Response(status=status, body=orjson.dumps(body), content_type="application/json")
