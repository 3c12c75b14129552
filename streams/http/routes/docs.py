"""The API's document, and the page that shows it: Swagger UI, from this host alone, under a strict policy."""

from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from streams.http.document import document
from streams.http.problems import Problem
from streams.http.slims import is_same

OPENAPI: Final = "/openapi.json"
PAGE: Final = "/docs"
STATIC = Path(__file__).parents[1] / "static"
KINDS: Final = {
    "docs.html": "text/html; charset=utf-8",
    "docs.css": "text/css; charset=utf-8",
    "docs.js": "text/javascript; charset=utf-8",
    "swagger-ui.css": "text/css; charset=utf-8",
    "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
    "swagger-ui.png": "image/png",
}
OPEN: Final = frozenset({OPENAPI, PAGE, *(f"{PAGE}/{name}" for name in KINDS)})
"""What needs no token: it tells nothing of the deployment."""
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",  # its arrows are images in its style sheet
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
REVALIDATE: Final = "no-cache"
TAG_BYTES: Final = 9


async def openapi(request: Request) -> Response:
    """The document."""
    return _answer(request, orjson.dumps(document()), "application/json")


async def page(request: Request) -> Response:
    """The page."""
    return _answer(request, _file("docs.html"), KINDS["docs.html"])


async def part(request: Request) -> Response:
    """What the page consists of."""
    name = request.path_params["name"]
    if name not in KINDS:
        raise Problem(404, "no such path")
    return _answer(request, _file(name), KINDS[name])


@cache
def _file(name: str) -> bytes:
    return (STATIC / name).read_bytes()


def _answer(request: Request, body: bytes, kind: str) -> Response:
    tag = f'"{blake2b(body, digest_size=TAG_BYTES).hexdigest()}"'
    headers = {
        "ETag": tag,
        "Cache-Control": REVALIDATE,
        "Content-Security-Policy": POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
    }
    if is_same(request.headers.get("if-none-match"), tag):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=kind)


ROUTES = [Route(OPENAPI, openapi), Route(PAGE, page), Route(f"{PAGE}/{{name}}", part)]
