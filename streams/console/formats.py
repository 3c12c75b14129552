"""Values as people read them: dates, numbers with their unit, and texts without signs that hide others."""

import re
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from markupsafe import Markup, escape

from schemas import Tier
from streams.rights.sentences import day

NOTHING = "—"
SURE = {Tier.HIGH: "sure", Tier.MEDIUM: "likely", Tier.LOW: "first sign", Tier.SILENT: "says nothing yet"}
_JOINERS = "\u200c\u200d"
"""Signs without a shape that words and emoji need; all others could turn or hide the text around them."""
_STARRED = re.compile(r"\*([^*]+)\*")
MINUTE, HOUR, DAY, THOUSAND = 60, 3_600, 86_400, 1_000


def text(value: Any) -> str:
    """Any value as a cell of a table."""
    if value is None:
        return NOTHING
    if isinstance(value, float):
        return number(value)
    return f"{value:,}" if isinstance(value, int) else cut(str(value))


def cut(value: str, longest: int = 240) -> str:
    r"""Drop signs that a page would act on, and letters beyond the longest length.

    >>> cut("a" * 500, 5), cut("a\u202eb\x00")
    ('aaaa…', 'a�b�')
    """
    shown = value if len(value) <= longest else value[: longest - 1] + "…"
    return "".join(sign if sign.isprintable() or sign in _JOINERS else " " if sign in "\n\t" else "�" for sign in shown)


def number(value: float | None) -> str:
    """A number with three significant digits.

    >>> number(0.00012345), number(1234.5), number(0.0)
    ('0.000123', '1,234.5', '0')
    """
    if value is None or not isfinite(value):
        return NOTHING
    return f"{value:,.1f}".removesuffix(".0") if abs(value) >= THOUSAND else f"{value:.3g}"


def duration(seconds: float | None) -> str:
    """A duration in the unit that fits.

    >>> duration(0.0042), duration(1.5), duration(95)
    ('4 ms', '1.5 s', '1.6 min')
    """
    if seconds is None:
        return NOTHING
    for size, unit in ((HOUR, "h"), (MINUTE, "min"), (1, "s")):
        if seconds >= size:
            return f"{seconds / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{1000 * seconds:.0f} ms"


def moment(when: datetime) -> str:
    """A date and a time of day in UTC."""
    return f"{day(when)}, {when:%H:%M} UTC"


def ago(when: datetime) -> str:
    """A past moment by its distance from now, in the largest unit."""
    seconds = int((datetime.now(UTC) - when).total_seconds())
    for size, unit in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        if amount := seconds // size if seconds > 0 else 0:
            return f"{amount} {unit}{'' if amount == 1 else 's'} ago"
    return "just now"


def story(sentence: str) -> Markup:
    """A sentence as HTML, with `*titles*` in italics.

    >>> story("You took *A <b>* and left it.")
    Markup('You took <em>A &lt;b&gt;</em> and left it.')
    """
    return Markup(_STARRED.sub(r"<em>\1</em>", str(escape(sentence))))  # noqa: S704 - escaped before


def sure(tier: Tier) -> str:
    """A tier in a lay person's words."""
    return SURE[tier]
