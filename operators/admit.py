"""Admission of events: an event's time and its id decide whether it was forgotten.

Workers and the materializer apply the same rule before anything else. Times alone do not suffice: an event that was
dated ahead, or that is sent again with another time, would pass as new.
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
    """The reason to refuse an event; None to admit it."""
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

    A request that was dated by a clock that ran ahead covers the events of that clock, and no later ones.
    """
    if in_force(receipt, now).covers(domain, *moments):
        return True
    return receipt.covers(domain, *(moment for moment in moments if is_ahead(moment, now)))


def must_wait(event: Model, logged_at: datetime | None, now: datetime, receipt: Receipt | None) -> bool:
    """True if it is too early to decide whether this event was forgotten.

    Its record is ahead of the worker's clock, so one of the clocks has jumped. Events of a person without a request to
    forget never wait.
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
