"""What a form, or an address, says: each name once, in one way."""

from urllib.parse import parse_qsl

from starlette.requests import Request

from streams.http.problems import Problem

FORM_BYTES = 16 * 1024
"""The largest form; a sentence to be understood takes a few hundred bytes."""
FIELDS = 64
FORM_TYPE = "application/x-www-form-urlencoded"


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, each there once.

    Raises:
        Problem: it is too large, or not a form.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM_TYPE:
        raise Problem(415, "this is not a form")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > FORM_BYTES:
            raise Problem(413, "the form is too large")
    try:
        return fields(body.decode("ascii"))
    except UnicodeDecodeError:
        raise Problem(400, "the form cannot be read") from None


def fields(text: str) -> dict[str, str]:
    """Names and values, percent-encoded UTF-8, each name once.

    Raises:
        Problem: they cannot be read in one way.
    """
    try:
        pairs = parse_qsl(
            text, keep_blank_values=True, strict_parsing=bool(text), errors="strict", max_num_fields=FIELDS
        )
    except ValueError:  # also UnicodeDecodeError
        raise Problem(400, "the fields cannot be read") from None
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Problem(400, "a field is there twice")
    return found
