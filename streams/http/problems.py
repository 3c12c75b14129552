"""Errors as problem details (RFC 9457), without tracebacks, ids or secrets."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from itertools import islice
from typing import Any, Final

import orjson
from pydantic import ValidationError
from starlette.responses import Response

CONTENT_TYPE: Final = "application/problem+json"
MAX_ERRORS: Final = 5
RETRY: Final = {"Retry-After": "5"}
_TEXTS: Final = {
    # Pydantic's messages would quote the client's value.
    "unknown_version": "the schema_version is not one that this release knows",
    "off_the_scale": "the rating must lie on its scale",
}


class Problem(Exception):
    """An error response; `more`: additional members of the problem."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.headers, self.more = status, headers or {}, more

    def response(self) -> Response:
        """Return the HTTP response, titled with the status's phrase."""
        title = HTTPStatus(self.status).phrase
        body = {"type": "about:blank", "title": title, "status": self.status, "detail": str(self), **self.more}
        return Response(orjson.dumps(body), self.status, {**self.headers, "Content-Type": CONTENT_TYPE})


@contextmanager
def checked_fields() -> Iterator[None]:
    """Turn validation errors into problems."""
    try:
        yield
    except ValidationError as error:
        raise invalid_fields(error.errors()) from None


def invalid_fields(errors: Iterable[Mapping[str, Any]], skipped: int = 0) -> Problem:
    """Return the problem of an invalid request, without quoting its values."""
    return Problem(422, "some fields are invalid", errors=field_errors(errors, skipped=skipped))


def field_errors(errors: Iterable[Mapping[str, Any]], whole: str = "", skipped: int = 0) -> tuple[dict[str, str], ...]:
    """Return at most five invalid fields of pydantic's errors.

    `whole` names the object itself; `skipped`: how many parts each location has before its field.
    """
    found = []
    for each in islice(errors, MAX_ERRORS):
        *path, last = each["loc"][skipped:] or ("",)
        # The name of an unknown field comes from the client, so it is not quoted.
        parts = [*path, "?" if each["type"] == "extra_forbidden" else last]
        what = _TEXTS.get(each["type"], each["msg"].removeprefix("Value error, "))
        found.append({"field": ".".join(map(str, parts)) or whole, "what": what})
    return tuple(found)
