"""Admission of events: clocks, erased ids, the fence against repeats (invariant 2).

Workers and the materializer decide alike, by Kafka's time. Ids are checked besides times, because an erased event that
is sent again with another time would pass as new. Events from the future are refused: they could outlive a request to
forget. Late events are accepted: apps import histories and go offline.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from math import ceil

from schemas import CardCommand, CardDiff, Model, Position, Receipt, SkillCommand, SkillDiff, derived_id, event_digest
from schemas.events import Abstention, Contrast, Feedback, Interaction, Ranking, RankRequest, Selection
from schemas.statements import Correction, Utterance

# The tolerated difference of clocks.
TOLERANCE = timedelta(minutes=5)


def add_span(moment: datetime, span: timedelta) -> datetime:
    """Return a later moment, or the last one of the calendar."""
    try:
        return moment + span
    except OverflowError:
        return datetime.max.replace(tzinfo=moment.tzinfo)


def is_ahead(moment: datetime, now: datetime) -> bool:
    """Return True if a moment is ahead by more than the tolerance."""
    return moment - now > TOLERANCE


def kafka_time(source: Position | None) -> datetime | None:
    """Return the time at which Kafka logged a record; None if unknown."""
    return source.moment if source is not None and source.timestamp_ms else None


def median_clock(logged_at: datetime | None, newest: datetime, now: datetime) -> datetime:
    """Return the median of three clocks; any one may be wrong.

    These are Kafka's time of the record, that of the newest other record, and the worker's.

    >>> from datetime import UTC
    >>> noon, hour = datetime(2026, 1, 1, 12, tzinfo=UTC), timedelta(hours=1)
    >>> [median_clock(*wrong) == noon for wrong in ((noon, noon, noon + hour), (noon + hour, noon, noon))]
    [True, True]
    """
    return now if logged_at is None else sorted((logged_at, newest, now))[1]


def is_later(held: datetime, at: datetime, logged_at: datetime | None) -> bool:
    """True if a stored moment is after an event, by sane clocks.

    Otherwise one event of such a clock would override all others until its time has come.

    >>> from datetime import UTC
    >>> noon, hour = datetime(2026, 1, 1, 12, tzinfo=UTC), timedelta(hours=1)
    >>> is_later(noon, noon - hour, noon), is_later(noon + hour, noon, noon)
    (True, False)
    """
    return held > at and not (logged_at is not None and is_ahead(held, logged_at))


DAY_MS = 24 * 3_600_000


def is_applied(applied: Sequence[Position], position: Position) -> bool:
    """Return True if this record, or a later one, was applied.

    The timestamp counts too: the offsets of a recreated topic start again at 0.

    >>> held = [Position(topic="t", partition=0, offset=7, timestamp_ms=50)]
    >>> is_applied(held, Position(topic="t", partition=0, offset=7, timestamp_ms=50))
    True
    >>> is_applied(held, Position(topic="t", partition=0, offset=3, timestamp_ms=90))
    False
    """
    return any(
        held.topic == position.topic
        and held.partition == position.partition
        and position.offset <= held.offset
        and position.timestamp_ms <= held.timestamp_ms
        for held in applied
    )


def with_applied(
    applied: Sequence[Position], position: Position | None, claimed: datetime | None = None
) -> tuple[Position, ...]:
    """Return the fence after a record: the newest position per topic.

    Producers' clocks can go back, but the fence's timestamp must not, or an older record would pass for one of a new
    topic. A step back of more than a day means that the earlier clock was wrong. An event time (`claimed`) that is
    ahead raises the timestamp, so that a request to forget knows the newest time that was learned from.

    >>> first = with_applied((), Position(topic="t", partition=0, offset=7, timestamp_ms=90))
    >>> with_applied(first, Position(topic="t", partition=0, offset=8, timestamp_ms=50))[0].timestamp_ms
    90
    """
    if position is None:
        return tuple(applied)
    before = next((held for held in applied if held.topic == position.topic), position)
    ahead_ms = 0
    # The cheap comparison decides nearly always.
    if claimed is not None and claimed.timestamp() * 1_000 > position.timestamp_ms - 1:
        ahead_ms = ceil((claimed - position.moment).total_seconds() * 1_000)
    if 0 < ahead_ms <= DAY_MS:
        position = position.model_copy(update={"timestamp_ms": position.timestamp_ms + ahead_ms})
    if before.partition == position.partition and before.offset < position.offset:
        back_ms = before.timestamp_ms - position.timestamp_ms
        if 0 < back_ms <= DAY_MS:
            position = position.model_copy(update={"timestamp_ms": before.timestamp_ms})
    kept = [held for held in applied if held.topic != position.topic]
    return tuple(sorted([*kept, position], key=lambda held: held.topic))


def with_recent(ids: Sequence[str], new: str, most: int) -> tuple[str, ...]:
    """Add an id to a ring; the oldest drops out."""
    return (*ids, new)[-most:]


# Events with bounded times. The time of a request to forget has no effect.
_BY_APPS = (Interaction, RankRequest, Ranking, Selection, Feedback, Correction, Utterance, SkillCommand, CardCommand)


class RejectReason(StrEnum):
    """The reason to refuse an event, also of its dead letter."""

    FORGOTTEN = "forgotten"
    FROM_THE_FUTURE = "from-the-future"


def reject_reason(
    event: Model, logged_at: datetime | None, now: datetime, receipt: Receipt | None = None, secret: bytes = b""
) -> RejectReason | None:
    """Return the reason to refuse an event; None to admit it."""
    if receipt is not None and receipt.known:
        name = event_id_of(event)
        if name is not None and event_digest(event.user_id, name, secret) in receipt.known:  # type: ignore[attr-defined]
            return RejectReason.FORGOTTEN
    if not isinstance(event, _BY_APPS) or not is_ahead(event.occurred_at, logged_at or now):
        return None
    if receipt is None:
        return RejectReason.FROM_THE_FUTURE
    # An event without a domain may belong to any of them.
    domain = getattr(event, "domain", None)
    has_erased = bool(receipt.domains) if domain is None else domain in receipt.domains
    # It may be from before the erasure: not even a dead letter is kept.
    is_erased = receipt.person is not None or has_erased
    return RejectReason.FORGOTTEN if is_erased else RejectReason.FROM_THE_FUTURE


def event_id_of(event: Model) -> str | None:
    """Return an event's id in receipts; None if it teaches nothing."""
    match event:
        case Ranking() | Selection() | Abstention():  # a ranking has one answer, and is known by it
            return contrast_id(event.user_id, event.ranking_id)
        case RankRequest():
            return contrast_id(event.user_id, event.request_id)
        case Interaction() | Contrast() | Feedback() | Correction() | SkillCommand() | SkillDiff():
            return event.event_id
        case Utterance() | CardCommand() | CardDiff():
            return event.event_id
        case _:
            return None


def contrast_id(user_id: str, ranking_id: str) -> str:
    """Return the id of a user's contrast in this ranking."""
    return derived_id("contrast", user_id, ranking_id)


def abstention_id(user_id: str, ranking_id: str) -> str:
    """Return the id of a user's abstention from this ranking."""
    return derived_id("abstention", user_id, ranking_id)
