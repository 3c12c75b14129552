"""How far an event's own time may run ahead of Kafka's: the bound that makes "before" and "after" mean something.

An event from the future would survive every request to forget: it could be sent again once its time has come. So it is
refused. Late events are welcome: histories are imported, and apps were offline.

Kafka's time decides, and never a reader's clock: a worker and a materializer that read the same record at different
times, or whose clocks jump, come to the same decision.
"""

from datetime import datetime, timedelta

from schemas import Position

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


def is_ahead(moment: datetime, now: datetime) -> bool:
    """True if a moment is ahead of another clock by more than clocks may differ.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    >>> is_ahead(noon + TOLERANCE, noon), is_ahead(noon + 2 * TOLERANCE, noon)
    (False, True)
    """
    return moment - now > TOLERANCE


def kafka_time(source: Position | None) -> datetime | None:
    """When Kafka logged a record; None where that is not known."""
    return source.moment if source is not None and source.timestamp_ms else None


def reached(logged_at: datetime | None, newest: datetime, now: datetime) -> datetime:
    """The time at which a worker handles a record: the median of three clocks.

    One of them may be wrong by any amount.

    Args:
        logged_at: when Kafka logged the record; None where that is not known.
        newest: when Kafka logged the newest of the other records; long ago where there is none.
        now: the worker's time.

    >>> from datetime import UTC
    >>> noon, hour = datetime(2026, 1, 1, 12, tzinfo=UTC), timedelta(hours=1)
    >>> [reached(*wrong) == noon for wrong in ((noon, noon, noon + hour), (noon + hour, noon, noon))]
    [True, True]
    """
    return now if logged_at is None else sorted((logged_at, newest, now))[1]


def is_later(held: datetime, at: datetime, logged_at: datetime | None) -> bool:
    """True if a moment in the state is after an event, and no clock that ran ahead wrote it.

    Otherwise one event of such a clock would override all others until its time has come.

    >>> from datetime import UTC
    >>> noon, hour = datetime(2026, 1, 1, 12, tzinfo=UTC), timedelta(hours=1)
    >>> is_later(noon, noon - hour, noon), is_later(noon + hour, noon, noon)
    (True, False)
    """
    return held > at and not (logged_at is not None and is_ahead(held, logged_at))
