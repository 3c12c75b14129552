"""Templates: HTML in which every value is escaped, and a value that is not there is an error."""

import hashlib
import re
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from streams.console.addresses import ROOT, address
from streams.http.tokens import Scope

FOLDER = Path(__file__).parent
STATIC = FOLDER / "static"
HTMX, ECHARTS = "vendor/htmx-2.0.11.min.js", "vendor/echarts-6.1.0.min.js"
_STARRED = re.compile(r"\*([^*]+)\*")
MINUTE, HOUR, DAY = 60, 3_600, 86_400


def render(template: str, values: dict[str, Any]) -> str:
    """The page that a template makes of these values."""
    return _environment().get_template(template).render(values)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"address": address, "static": static, "Scope": Scope, "HTMX": HTMX, "ECHARTS": ECHARTS}
    made.filters |= {"day": day, "moment": moment, "ago": ago, "count": count, "story": story}
    return made


@lru_cache(maxsize=64)
def static(name: str) -> str:
    """The address of a file of ours, which changes with its content: a browser may keep it."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"{ROOT}/static/{name}?v={digest}"


def day(when: datetime) -> str:
    """A date as people write it.

    >>> day(datetime(2026, 1, 9, tzinfo=UTC))
    '9 January 2026'
    """
    return f"{when.day} {when:%B %Y}"


def moment(when: datetime) -> str:
    """A date and a time of day in UTC.

    >>> moment(datetime(2026, 1, 9, 14, 5, tzinfo=UTC))
    '9 January 2026, 14:05 UTC'
    """
    return f"{day(when)}, {when:%H:%M} UTC"


def ago(when: datetime, now: datetime | None = None) -> str:
    """How long ago something was, in its largest unit.

    >>> ago(datetime(2026, 1, 9, tzinfo=UTC), datetime(2026, 1, 12, tzinfo=UTC))
    '3 days ago'
    """
    seconds = int(((now or datetime.now(UTC)) - when).total_seconds())
    for size, unit in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        if seconds >= size:
            amount = seconds // size
            return f"{amount} {unit}{'' if amount == 1 else 's'} ago"
    return "just now"


def story(sentence: str) -> Markup:
    """A sentence in which *titles* stand between stars, with the titles in italics.

    >>> story("You took *A <b>* and left it.")
    Markup('You took <em>A &lt;b&gt;</em> and left it.')
    """
    return Markup(_STARRED.sub(r"<em>\1</em>", str(escape(sentence))))  # noqa: S704 - escaped before


def count(number: float) -> str:
    """A number with its thousands marked.

    >>> count(12345)
    '12,345'
    """
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.1f}"
