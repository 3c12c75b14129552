"""How far a record's own time may run ahead of Kafka's: the bound that makes "before" and "after" mean something.

An event from the future would survive every request to forget: it could be sent again once its time has come. So it is
refused. What is late is welcome: histories are imported, and apps were offline.
"""

from datetime import datetime, timedelta

TOLERANCE = timedelta(minutes=5)
"""How far clocks may differ: those of apps, brokers and workers."""


def after(moment: datetime, span: timedelta) -> datetime:
    """A moment so much later; the last that there is where the calendar ends before.

    >>> from datetime import UTC
    >>> after(datetime(9999, 12, 31, 23, tzinfo=UTC), timedelta(hours=2)).isoformat()
    '9999-12-31T23:59:59.999999+00:00'
    """
    try:
        return moment + span
    except OverflowError:
        return datetime.max.replace(tzinfo=moment.tzinfo)


def is_ahead(occurred_at: datetime, logged_at: datetime | None, now: datetime) -> bool:
    """Whether an event is from the future: of Kafka's time, or, as producers may set that too, of ours.

    Args:
        occurred_at: when it happened, by its own account.
        logged_at: its record's timestamp; None where there is none.
        now: the reader's time, when it first sees the record.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    >>> is_ahead(noon + TOLERANCE, noon, noon), is_ahead(noon + 2 * TOLERANCE, noon, noon)
    (False, True)
    >>> is_ahead(noon + 2 * TOLERANCE, noon + 2 * TOLERANCE, noon), is_ahead(noon, noon + 2 * TOLERANCE, noon)
    (True, True)
    """
    latest = now if logged_at is None else min(logged_at, now)
    return occurred_at - latest > TOLERANCE or (logged_at is not None and logged_at - now > TOLERANCE)
