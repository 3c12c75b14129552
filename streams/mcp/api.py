"""Calls of the HTTP API, with errors that a model understands."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx2
from mcp.server.mcpserver.exceptions import ToolError

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 120.0  # more than the API itself waits for a worker, so that the API's own answer arrives
MAX_FIELDS = 5  # named fields of a refused request
ALL_USERS = "*"
NOTHING = "nothing is known yet: it is learned from choices, and is here some seconds later"


class NotDone(ToolError):
    """The API refused or failed; the text names a remedy."""


@dataclass(frozen=True)
class ApiClient:
    """The HTTP API, and the server's fixed user and domain, if any."""

    http: httpx2.AsyncClient  # sends the token
    where: str
    only_user: str | None = None  # None: the token's
    only_domain: str | None = None  # None: each call names one

    async def user(self, named: str | None) -> str:
        """Return the user that a call is about."""
        if self.only_user is not None:
            if named not in (None, self.only_user):
                raise NotDone("this server acts for one user only: leave `user` out")
            return self.only_user
        # The API itself refuses users that are not the token's.
        user = named or (await self.get("/v1/token")).get("user")
        if not isinstance(user, str) or user == ALL_USERS:
            raise NotDone("this token acts for several users: name one in `user`")
        return user

    def domain(self, named: str | None) -> str:
        """Return the domain that a call is about."""
        if self.only_domain is not None and named not in (None, self.only_domain):
            raise NotDone(f"this server acts in the domain {self.only_domain} only: leave `domain` out")
        if (found := self.only_domain or named) is None:
            raise NotDone("name the `domain`, such as films: the app's name for the kind of items")
        return found

    async def path(self, user: str | None, *rest: str) -> str:
        """Return the API's path of something of a user, percent-encoded."""
        return "/v1/users/" + "/".join(quote(part, safe="") for part in (await self.user(user), *rest))

    async def get(self, path: str, **query: str | None) -> dict[str, Any]:
        """Return the JSON object at a path."""
        found = await self.find(path, **query)
        if not isinstance(found, dict):
            raise NotDone(NOTHING)
        return found

    async def find(self, path: str, **query: str | None) -> dict[str, Any] | str | None:
        """Return the JSON object or text at a path, if any."""
        answer = await self._ask("GET", path, params={name: value for name, value in query.items() if value})
        return None if answer.status_code == HTTPStatus.NOT_FOUND else self._body(answer)

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Post the body's fields that are set; return the answer."""
        answer = await self._ask("POST", path, json={name: value for name, value in body.items() if value is not None})
        done = self._body(answer)
        return done if isinstance(done, dict) else {}

    async def send(self, *events: tuple[str, dict[str, Any]]) -> int:
        """Send events by topic, and return how many were accepted."""
        given = [
            {"topic": topic, "event": {name: value for name, value in event.items() if value is not None}}
            for topic, event in events
        ]
        answer = await self.post("/v1/events", {"events": given})
        refused = [each for each in answer.get("results", ()) if each.get("status") == "refused"]
        if refused:
            wrong = [f"{one.get('field')}: {one.get('what')}" for each in refused for one in each.get("errors", ())]
            raise NotDone(f"{len(refused)} of the events were refused: {'; '.join(wrong)}")
        return int(answer.get("accepted", len(events)))

    async def _ask(self, method: str, path: str, **more: Any) -> httpx2.Response:
        try:
            return await self.http.request(method, path, **more)
        except httpx2.TimeoutException:
            raise NotDone(f"{self.where} did not answer in time: try again, and then ask the operator") from None
        except httpx2.TransportError:
            raise NotDone(
                f"{self.where} does not answer: start `sager up` or `sager serve`, or set SAGER_URL to its address"
            ) from None

    def _body(self, answer: httpx2.Response) -> dict[str, Any] | str:
        if answer.is_success and answer.headers.get("content-type", "").startswith("text/plain"):
            return answer.text
        try:
            body = answer.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise NotDone(f"{self.where} is not the API: does SAGER_URL name it?")
        if not answer.is_success:
            raise NotDone(_reason(answer, body))
        return body


def _reason(answer: httpx2.Response, problem: Mapping[str, Any]) -> str:
    """Return the reason of a refusal, which quotes no request."""
    if answer.status_code == HTTPStatus.UNAUTHORIZED:
        return "the API does not know this token: `sager token new` makes one, SAGER_TOKEN or --token-file names it"
    text = str(problem.get("detail") or problem.get("title") or f"status {answer.status_code}")
    fields = [f"{each.get('field')}: {each.get('what')}" for each in problem.get("errors") or ()]
    if more := "; ".join(fields[:MAX_FIELDS]):
        text += f" ({more})"
    wait = answer.headers.get("Retry-After")
    return f"{text}. Try again in {wait} s" if wait and "try again" not in text.casefold() else text


# Tools are declared before their server's API is known.
API: ContextVar[ApiClient] = ContextVar("API")
