"""Values as people read them: dates, numbers with their unit, and texts without signs that hide others."""

import re
from datetime import UTC, date, datetime
from math import isfinite
from typing import Any

from markupsafe import Markup, escape

from schemas import Tier

NOTHING = "—"
"""A cell without a value."""
LONGEST_TEXT = 240
_JOINERS = "\u200c\u200d"
"""Signs without a shape that words and emoji need; all others could turn or hide the text around them."""
_SHAPES = {"\n": " ⏎ ", "\t": " "}
_STARRED = re.compile(r"\*([^*]+)\*")
SURE = {Tier.HIGH: "sure", Tier.MEDIUM: "likely", Tier.LOW: "first sign", Tier.SILENT: "says nothing yet"}
MINUTE, HOUR, DAY = 60, 3_600, 86_400
_THOUSAND = 1_000


def text(value: Any) -> str:
    """Any value as a cell of a table."""
    match value:
        case None:
            return NOTHING
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return number(value)
        case datetime():
            return f"{value:%Y-%m-%d %H:%M}"
        case date():
            return value.isoformat()
    return cut(str(value))


def cut(value: str, longest: int = LONGEST_TEXT) -> str:
    r"""Drop signs that a page would act on, and letters beyond the longest length.

    >>> cut("a" * 500, 5), cut("a\u202eb\x00")
    ('aaaa…', 'a�b�')
    """
    shown = value if len(value) <= longest else value[: longest - 1] + "…"
    if shown.isprintable():
        return shown
    return "".join(sign if sign.isprintable() or sign in _JOINERS else _SHAPES.get(sign, "�") for sign in shown)


def number(value: float | None) -> str:
    """A number with three significant digits.

    >>> number(0.00012345), number(1234.5), number(0.0), number(float("nan"))
    ('0.000123', '1,234.5', '0', '—')
    """
    if value is None or not isfinite(value):
        return NOTHING
    return f"{value:,.1f}".removesuffix(".0") if abs(value) >= _THOUSAND else f"{value:.3g}"


def percent(share: float | None) -> str:
    """A share in percent."""
    return NOTHING if share is None else f"{100 * share:.1f}".removesuffix(".0") + " %"


def duration(seconds: float | None) -> str:
    """A duration in the unit that fits.

    >>> duration(0.0042), duration(1.5), duration(95), duration(7300)
    ('4 ms', '1.5 s', '1 min 35 s', '2 h 1 min')
    """
    if seconds is None:
        return NOTHING
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < MINUTE:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    minutes, rest = divmod(round(seconds), MINUTE)
    return f"{minutes} min {rest} s" if minutes < MINUTE else f"{minutes // MINUTE} h {minutes % MINUTE} min"


def dollars(amount: float | None) -> str:
    """An amount of money.

    >>> dollars(1234.5), dollars(0.0002), dollars(0.0)
    ('$1,234.50', '$0.0002', '$0')
    """
    if not amount:
        return NOTHING if amount is None else "$0"
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}".rstrip("0")


def day(when: datetime) -> str:
    """A date, such as `9 January 2026`."""
    return f"{when.day} {when:%B %Y}"


def moment(when: datetime) -> str:
    """A date and a time of day in UTC."""
    return f"{day(when)}, {when:%H:%M} UTC"


def ago(when: datetime) -> str:
    """A past moment by its distance from now, in the largest unit."""
    seconds = int((datetime.now(UTC) - when).total_seconds())
    for size, unit in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        if seconds >= size:
            amount = seconds // size
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
