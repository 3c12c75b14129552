"""Jinja templates, addresses of pages and files, and formats of values."""

import hashlib
import re
from collections.abc import Sequence
from datetime import datetime
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from operators.learning.evidence import format_count, is_counted
from schemas import Tier
from streams.http.tokens import Scope
from streams.views.sentences import day

ROOT = "/console"
STATIC = Path(__file__).parent / "static"
LOADER = FileSystemLoader(Path(__file__).parent / "templates")
HTMX = "vendor/htmx-2.0.11.min.js"
NOTHING = "—"
SURE = {Tier.HIGH: "sure", Tier.MEDIUM: "likely", Tier.LOW: "first sign", Tier.SILENT: "says nothing yet"}
# Invisible characters that words and emoji need; others could reverse or hide the text around them.
_JOINERS = "\u200c\u200d"
_STARRED = re.compile(r"\*([^*]+)\*")


def address(path: str, **query: Any) -> str:
    """Return the address of a page."""
    # Ids are in the query: in the path, `..` or `/` in an id would change it.
    given = urlencode({name: value for name, value in query.items() if value is not None})
    return f"{ROOT}{path}?{given}" if given else f"{ROOT}{path}"


@cache
def static(name: str) -> str:
    """Return the address of a static file, with its digest."""
    # Browsers cache it for a year; a new digest makes them load it again.
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"{ROOT}/static/{name}?v={digest}"


def render(template: str, **values: Any) -> str:
    """Render a template; a missing value is an error."""
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    trimmed: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True}
    environment = Environment(loader=LOADER, autoescape=True, undefined=StrictUndefined, **trimmed)
    environment.globals |= {"address": address, "static": static, "Scope": Scope, "HTMX": HTMX}
    environment.filters |= {"day": day, "moment": moment, "story": story, "text": text, "cut": cut}
    environment.filters |= {"sure": SURE.__getitem__, "choices": format_count, "counted": is_counted}
    return environment


def table(name: str, headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """Return a table for a template; headings know numeric columns."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(headings)
    numeric = [any(isinstance(value, int | float) for value in column) for column in columns]
    cells = [[text(value) for value in row] for row in rows]
    return {"name": name, "headings": list(zip(headings, numeric, strict=True)), "cells": cells}


def text(value: Any) -> str:
    """Format a value as a table cell."""
    if value is None:
        return NOTHING
    if isinstance(value, float):
        return number(value)
    return f"{value:,}" if isinstance(value, int) else cut(str(value))


def cut(value: str, longest: int = 240) -> str:
    r"""Replace control characters, and shorten to the longest length.

    >>> cut("a" * 500, 5), cut("a\u202eb\x00")
    ('aaaa…', 'a�b�')
    """
    shown = value if len(value) <= longest else value[: longest - 1] + "…"
    return "".join(sign if sign.isprintable() or sign in _JOINERS else " " if sign in "\n\t" else "�" for sign in shown)


def number(value: float) -> str:
    """Format a number with three significant digits.

    >>> number(0.00012345), number(1234.5), number(0.0)
    ('0.000123', '1,234.5', '0')
    """
    if not isfinite(value):
        return NOTHING
    return f"{value:,.1f}".removesuffix(".0") if abs(value) >= 1_000 else f"{value:.3g}"  # noqa: PLR2004


def moment(when: datetime) -> str:
    """Format a date and a time of day in UTC."""
    return f"{day(when)}, {when:%H:%M} UTC"


def story(sentence: str) -> Markup:
    """Format a sentence as HTML, with `*titles*` in italics.

    >>> story("You took *A <b>* and left it.")
    Markup('You took <em>A &lt;b&gt;</em> and left it.')
    """
    return Markup(_STARRED.sub(r"<em>\1</em>", str(escape(sentence))))  # noqa: S704 - escaped before
