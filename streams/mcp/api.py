"""Calls the HTTP API for one caller, and turns what goes wrong into one sentence that a model can act on."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx2
from mcp.server.mcpserver.exceptions import ResourceError, ToolError

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 120.0
"""More than the API itself waits for a worker, so that its own answer tells what came of it."""
MOST_FIELDS = 5


class NotDone(ToolError, ResourceError):
    """The API did not do what was asked; the text says why, and what to do."""


def path_of(user: str, *rest: str) -> str:
    """The path of something of a user, percent-encoded.

    >>> path_of("a/b", "domains", "films", "slim")
    '/v1/users/a%2Fb/domains/films/slim'
    """
    return "/v1/users/" + "/".join(quote(part, safe="") for part in (user, *rest))


class Api:
    """The HTTP API, as one caller may use it.

    Args:
        client: where the API is.
        authorization: the caller's header `Authorization`; None if it sent none.
        where: how the API is reached, for messages.
    """

    def __init__(self, client: httpx2.AsyncClient, authorization: str | None, where: str) -> None:
        self._client, self._where = client, where
        self._headers = {"Accept": "application/json"}
        if authorization is not None:
            self._headers["Authorization"] = authorization

    async def get(self, path: str, **query: str | None) -> dict[str, Any]:
        """The JSON object at a path.

        Args:
            path: percent-encoded.
            query: parameters; what is None is left out.

        Raises:
            NotDone: there is none, or the API does not let the caller have it.
        """
        found = await self.find(path, **query)
        if found is None:
            raise NotDone("there is nothing to tell: it is learned from choices, and told some seconds later")
        return found

    async def find(self, path: str, **query: str | None) -> dict[str, Any] | None:
        """As `get`, but None where there is nothing."""
        given = {name: value for name, value in query.items() if value is not None}
        answer = await self._ask("GET", path, params=given)
        return None if answer.status_code == HTTPStatus.NOT_FOUND else self._body(answer)

    async def text(self, path: str, **query: str | None) -> str | None:
        """The text at a path; None where there is nothing.

        Raises:
            NotDone: the API does not let the caller have it.
        """
        given = {name: value for name, value in query.items() if value is not None}
        answer = await self._ask("GET", path, params=given)
        if answer.status_code == HTTPStatus.NOT_FOUND:
            return None
        if answer.is_success and answer.headers.get("content-type", "").startswith("text/plain"):
            return answer.text
        self._body(answer)
        raise NotDone(f"{self._where} answered with something that is not the API: does SAGER_URL name it?")

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """What the API answers to a body; of fields that are None it is told nothing.

        Raises:
            NotDone: it did not do it.
        """
        return self._body(await self._ask("POST", path, json=_given(body)))

    async def _ask(self, method: str, path: str, **more: Any) -> httpx2.Response:
        try:
            return await self._client.request(method, path, headers=self._headers, **more)
        except httpx2.TimeoutException:
            raise NotDone(f"{self._where} did not answer in time: try again, and then tell the operator") from None
        except httpx2.TransportError:
            raise NotDone(
                f"nobody answers at {self._where}: start `sager up` or `sager serve`, or set SAGER_URL to where it is"
            ) from None

    def _body(self, answer: httpx2.Response) -> dict[str, Any]:
        try:
            body = answer.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise NotDone(f"{self._where} answered with something that is not the API: does SAGER_URL name it?")
        if answer.is_success:
            return body
        raise NotDone(_why(answer, body))


def _why(answer: httpx2.Response, problem: Mapping[str, Any]) -> str:
    """What a problem says; its texts quote nothing of a request."""
    if answer.status_code == HTTPStatus.UNAUTHORIZED:
        return "the API does not know this token: `sager token new` makes one, SAGER_TOKEN or --token-file names it"
    told = str(problem.get("detail") or problem.get("title") or f"status {answer.status_code}")
    fields = [f"{each.get('field')}: {each.get('what')}" for each in _listed(problem, "errors")]
    refused = [str(each.get("why")) for each in _listed(problem, "refused")]
    more = "; ".join([*fields, *refused][:MOST_FIELDS])
    wait = answer.headers.get("Retry-After")
    return (
        told
        + (f" ({more})" if more else "")
        + (f". Try again in {wait} s" if wait and "try again" not in told.casefold() else "")
    )


def _listed(problem: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = problem.get(name)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _given(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}
