"""Answers in JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

JSON = "application/json"
_NOT_MODIFIED = 304


class Sent:
    """An answer whose bytes are known, as an ASGI application; Starlette's own takes ten times as long to make.

    Args:
        status: of the answer.
        headers: in lower case; without the length of the body.
        body: as it is sent.
    """

    def __init__(self, status: int, headers: Sequence[tuple[bytes, bytes]], body: bytes = b"") -> None:
        self._status, self._headers, self._body = status, headers, body

    async def __call__(self, _: Scope, __: Receive, send: Send) -> None:
        """Sends it."""
        headers = [*self._headers]
        if self._status != _NOT_MODIFIED:
            headers.append((b"content-length", b"%d" % len(self._body)))
        await send({"type": "http.response.start", "status": self._status, "headers": headers})
        await send({"type": "http.response.body", "body": self._body})


def as_json(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer with this body; its form is what the route documents."""
    return Response(orjson.dumps(body), status, headers, JSON)
