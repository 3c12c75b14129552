"""Moments as users write them at a terminal."""

from datetime import UTC, datetime, timedelta

import typer

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def moment_ms(text: str) -> int:
    """Return a moment, or a time before now, in milliseconds since 1970.

    >>> moment_ms("1970-01-02")
    86400000

    Raises:
        BadParameter: it is neither.
    """
    unit = _UNITS.get(text[-1:])
    try:
        if unit:
            moment = datetime.now(UTC) - timedelta(**{unit: float(text[:-1])})
        else:
            moment = datetime.fromisoformat(text)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0, int(moment.timestamp() * 1000))
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{text!r} is neither a time as 30m, 24h or 7d nor a moment as 2026-01-31") from None
