"""The application: all routes behind authentication, as ASGI."""

from importlib.util import find_spec

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse

from streams.console.app import Console
from streams.console.links import router as links
from streams.http import metrics
from streams.http.api import Api
from streams.http.document import TITLE, VERSION
from streams.http.middleware import Answering, problem_response
from streams.http.routes import ROUTERS, docs
from streams.mcp.http import mount as mount_mcp

CONSOLE = "/console"
NOT_TRACED: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""FastAPI would send spans to wherever OpenTelemetry's variables say, with paths, which name users."""


async def _to_the_console() -> RedirectResponse:
    return RedirectResponse(f"{CONSOLE}/")


def application(api: Api, *, console: bool = False) -> FastAPI:
    """The API as an ASGI application.

    Args:
        api: what the routes share.
        console: whether the pages of `streams.console` are there too, for people with a browser.
    """
    app = FastAPI(title=TITLE, version=VERSION, openapi_url=None, telemetry=NOT_TRACED)
    app.state.api = api
    app.router.redirect_slashes = False
    for kind in (HTTPException, RequestValidationError):
        app.add_exception_handler(kind, problem_response)
    for router in (*ROUTERS, *((links,) if console else ())):
        # Flat, so that a request is matched in one list and every route is seen in it.
        app.router.routes.extend(router.routes)
    app.router.routes.extend(docs.ROUTES)
    if console:
        app.state.console = Console(api)
        app.add_api_route(CONSOLE, _to_the_console, include_in_schema=False)
        app.mount(CONSOLE, app.state.console.app)
        app.add_api_route("/", _to_the_console, include_in_schema=False)
    if find_spec("mcp") is not None:
        mount_mcp(app, (api.settings.mcp_hosts or "").split(","))
    for route in app.routes:
        metrics.SECONDS.labels(getattr(route, "path", metrics.NO_ROUTE))

    def is_open(path: str) -> bool:
        return path in docs.OPEN or (console and (path in ("/", CONSOLE) or path.startswith(f"{CONSOLE}/")))

    app.add_middleware(Answering, gate=api.gate, is_open=is_open)
    return app
