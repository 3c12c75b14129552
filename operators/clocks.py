"""Bounds how far an event's own time may run ahead of Kafka's.

An event from the future could be sent again after a request to forget, so it is refused. Late events are welcome:
histories are imported, and apps were offline. Kafka's time decides: a worker and a materializer come to the same
decision, whatever their clocks.
"""

from datetime import datetime, timedelta

from schemas import Position

TOLERANCE = timedelta(minutes=5)
"""The tolerated difference of clocks."""


def after(moment: datetime, span: timedelta) -> datetime:
    """Return a later moment, or the last one of the calendar.

    >>> from datetime import UTC
    >>> after(datetime(9999, 12, 31, 23, tzinfo=UTC), timedelta(hours=2)).isoformat()
    '9999-12-31T23:59:59.999999+00:00'
    """
    try:
        return moment + span
    except OverflowError:
        return datetime.max.replace(tzinfo=moment.tzinfo)


def is_ahead(moment: datetime, now: datetime) -> bool:
    """Return True if a moment is ahead of another by more than the tolerance.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    >>> is_ahead(noon + TOLERANCE, noon), is_ahead(noon + 2 * TOLERANCE, noon)
    (False, True)
    """
    return moment - now > TOLERANCE


def kafka_time(source: Position | None) -> datetime | None:
    """Return the time at which Kafka logged a record; None if unknown."""
    return source.moment if source is not None and source.timestamp_ms else None


def reached(logged_at: datetime | None, newest: datetime, now: datetime) -> datetime:
    """Return the median of three clocks, of which one may be wrong by any amount.

    These are Kafka's time of the record, that of the newest other record, and the worker's.

    >>> from datetime import UTC
    >>> noon, hour = datetime(2026, 1, 1, 12, tzinfo=UTC), timedelta(hours=1)
    >>> [reached(*wrong) == noon for wrong in ((noon, noon, noon + hour), (noon + hour, noon, noon))]
    [True, True]
    """
    return now if logged_at is None else sorted((logged_at, newest, now))[1]


def is_later(held: datetime, at: datetime, logged_at: datetime | None) -> bool:
    """Return True if a moment in the state is after an event, and no clock that ran ahead wrote it.

    Otherwise one event of such a clock would override all others until its time has come.

    >>> from datetime import UTC
    >>> noon, hour = datetime(2026, 1, 1, 12, tzinfo=UTC), timedelta(hours=1)
    >>> is_later(noon, noon - hour, noon), is_later(noon + hour, noon, noon)
    (True, False)
    """
    return held > at and not (logged_at is not None and is_ahead(held, logged_at))
