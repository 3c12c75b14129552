"""Values as people read them: with their unit, no longer than a cell, and without signs that hide others."""

from collections.abc import Callable
from datetime import date, datetime
from math import isfinite
from typing import Any

MOST_LETTERS = 240
"""Longest text in a cell; beyond, it is cut, and says so."""
JOINERS = "\u200c\u200d"
"""Signs without a shape that words and emoji are made with; all others could turn or hide the text around them."""
NOTHING = "—"
"""A cell without a value."""
_SHAPE = {"\n": " ⏎ ", "\t": " "}
THOUSAND, MINUTE = 1_000, 60


def cell(value: Any) -> str:
    """A value as a person reads it.

    >>> cell(0.12345), cell(1234567), cell(None), cell(date(2026, 1, 5)), cell(True)
    ('0.123', '1,234,567', '—', '2026-01-05', 'yes')
    """
    if value is None:
        return NOTHING
    for kind, told in _TOLD.items():
        if isinstance(value, kind):
            return told(value)
    return cut(str(value))


def cut(text: str, most: int = MOST_LETTERS) -> str:
    r"""The text without signs that a page would act on, no longer than so many letters.

    >>> cut("a" * 500, 5), cut("a\u202eb\x00")
    ('aaaa…', 'a�b�')
    """
    shown = text if len(text) <= most else text[: most - 1] + "…"
    if shown.isprintable():
        return shown
    return "".join(letter if letter.isprintable() or letter in JOINERS else _SHAPE.get(letter, "�") for letter in shown)


def number(value: float) -> str:
    """A number with three digits that count.

    >>> number(0.00012345), number(12.3456), number(1234.5), number(0.0), number(float("nan"))
    ('0.000123', '12.3', '1,234.5', '0', '—')
    """
    if not isfinite(value):
        return NOTHING
    return f"{value:,.1f}".removesuffix(".0") if abs(value) >= THOUSAND else f"{value:.3g}"


def percent(share: float | None) -> str:
    """A share in percent.

    >>> percent(0.1234), percent(1.0), percent(None)
    ('12.3 %', '100 %', '—')
    """
    return NOTHING if share is None else f"{100 * share:.1f}".removesuffix(".0") + " %"


def duration(seconds: float | None) -> str:
    """A duration in the unit that fits.

    >>> duration(0.0042), duration(1.5), duration(95), duration(7300), duration(None)
    ('4 ms', '1.5 s', '1 min 35 s', '2 h 1 min', '—')
    """
    if seconds is None:
        return NOTHING
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < MINUTE:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    minutes, rest = divmod(round(seconds), MINUTE)
    if minutes < MINUTE:
        return f"{minutes} min {rest} s"
    return f"{minutes // MINUTE} h {minutes % MINUTE} min"


def dollars(amount: float | None) -> str:
    """An amount of money.

    >>> dollars(1234.5), dollars(0.0002), dollars(0.0), dollars(None)
    ('$1,234.50', '$0.0002', '$0', '—')
    """
    if amount is None:
        return NOTHING
    if amount == 0:
        return "$0"
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}".rstrip("0")


_TOLD: dict[type, Callable[[Any], str]] = {
    bool: lambda value: "yes" if value else "no",
    int: lambda value: f"{value:,}",
    float: number,
    datetime: lambda value: f"{value:%Y-%m-%d %H:%M}",
    date: date.isoformat,
}
"""In an order in which a narrower kind is before a wider one."""
