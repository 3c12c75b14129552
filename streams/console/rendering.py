"""Jinja templates with autoescape, in which a missing value is an error; and addresses of pages and files."""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from operators.evidence import is_counted, number_of
from streams.console import formats
from streams.http.tokens import Scope

ROOT = "/console"
FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"
HTMX, ECHARTS = "vendor/htmx-2.0.11.min.js", "vendor/echarts-6.1.0.min.js"


def address(path: str, **query: Any) -> str:
    """The address of a page. Ids are in the query, where none can be mistaken for a part of the path.

    >>> address("/person", user="a/b", domain=None)
    '/console/person?user=a%2Fb'
    """
    given = urlencode({name: value for name, value in query.items() if value is not None})
    return f"{ROOT}{path}?{given}" if given else f"{ROOT}{path}"


@lru_cache(maxsize=64)
def static(name: str) -> str:
    """The address of a static file, which changes with its content so that browsers may cache it for a year."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"{ROOT}/static/{name}?v={digest}"


def render(template: str, **values: Any) -> str:
    """Render a template below `templates`."""
    return environment().get_template(template).render(values)


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates' environment."""
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"address": address, "static": static, "Scope": Scope, "HTMX": HTMX, "ECHARTS": ECHARTS}
    for name in ("day", "moment", "ago", "story", "text", "cut", "sure"):
        made.filters[name] = getattr(formats, name)
    made.filters |= {"choices": number_of, "counted": is_counted}
    return made
