"""Our own files: style, scripts and the libraries that came with them, which tell nothing of the deployment."""

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from streams.console.rendering import STATIC

YEAR = "public, max-age=31536000, immutable"


class Files(StaticFiles):
    """The files of `static`. Their addresses change with their content, so that browsers may keep them."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, or that it has not changed."""
        found = await super().get_response(path, scope)
        if "etag" in Headers(raw=found.raw_headers):
            found.headers["Cache-Control"] = YEAR
        return found
