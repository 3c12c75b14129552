"""Admission of events: an event's time and its id decide whether it was forgotten.

Workers and the materializer apply the same rule, each before anything else. Times alone would not do: an event that was
dated ahead, or is sent once more with another time, would pass for a new one.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from operators.clocks import is_ahead
from operators.contrast import contrast_id
from operators.forget import in_force
from schemas import (
    Abstention,
    CardCommand,
    CardDiff,
    Contrast,
    Correction,
    Feedback,
    Interaction,
    Model,
    Ranking,
    RankRequest,
    Receipt,
    Selection,
    SkillCommand,
    SkillDiff,
    Utterance,
    known_as,
)

SENT_BY_APPS = (
    Interaction,
    RankRequest,
    Ranking,
    Selection,
    Feedback,
    Correction,
    Utterance,
    SkillCommand,
    CardCommand,
)
"""Whose times are bounded. Requests to forget are not refused for any time, and nothing goes by theirs."""


class Refused(StrEnum):
    """Why an event is not let in; for a dead letter its reason."""

    FORGOTTEN = "forgotten"
    FROM_THE_FUTURE = "from-the-future"


def refused(
    event: Model, logged_at: datetime | None, now: datetime, receipt: Receipt | None = None, secret: bytes = b""
) -> Refused | None:
    """The reason to refuse an event; None to admit it.

    Args:
        event: from an app or a worker.
        logged_at: its record's timestamp; None where there is none.
        now: the reader's time; it decides only where the record has none.
        receipt: what of this person was forgotten, as it was written.
        secret: the deployment's, which keys the digests of forgotten events.
    """
    if receipt is not None and receipt.known:
        name = id_of(event)
        if name is not None and known_as(event.user_id, name, secret) in receipt.known:  # type: ignore[attr-defined]
            return Refused.FORGOTTEN
    if not isinstance(event, SENT_BY_APPS) or not is_ahead(event.occurred_at, logged_at or now):
        return None
    # It may be from before, and nothing could tell: not even a dead letter is kept of it.
    return Refused.FORGOTTEN if receipt is not None and _forgets(receipt, event) else Refused.FROM_THE_FUTURE


def is_forgotten(receipt: Receipt, domain: str | None, moments: Sequence[datetime], now: datetime) -> bool:
    """True if a request to forget covers an event at any of these moments.

    A request that was carried out by a clock that ran ahead covers the events of that clock, and no others after it.

    Args:
        receipt: as it was written.
        domain: the event's; None where it names none.
        moments: the event's own time, and its record's.
        now: the reader's time.
    """
    if in_force(receipt, now).covers(domain, *moments):
        return True
    return receipt.covers(domain, *(moment for moment in moments if is_ahead(moment, now)))


def must_wait(event: Model, logged_at: datetime | None, now: datetime, receipt: Receipt | None) -> bool:
    """True if nothing can tell yet whether this event was forgotten: its record is ahead of the worker's clock.

    Its time may be that of a clock that has jumped. Of a person who was never forgotten, it is processed all the same.
    """
    if receipt is None or logged_at is None or not isinstance(event, SENT_BY_APPS):
        return False
    return is_ahead(logged_at, now) and _forgets(receipt, event)


def _forgets(receipt: Receipt, event: Model) -> bool:
    """Whether anything of this event's domain was forgotten; one that names no domain may be of any."""
    domain = getattr(event, "domain", None)
    return receipt.person is not None or (bool(receipt.domains) if domain is None else domain in receipt.domains)


def id_of(event: Model) -> str | None:
    """The id by which an event is known among its person's; None where nothing is learned from it."""
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
