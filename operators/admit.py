"""Whether an event may be learned from: its time and its id have to say whether it was forgotten.

Workers and the materializer ask the same, each before anything else. Times alone would not do: an event that was dated
ahead, or is sent once more with another time, would pass for a new one.
"""

from datetime import datetime
from enum import StrEnum

from operators.clocks import is_ahead
from operators.contrast import contrast_id
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
    """Why an event is not let in; None if it is.

    Args:
        event: what an app or a worker sent.
        logged_at: its record's timestamp; None where there is none.
        now: the reader's time.
        receipt: what of this person was forgotten.
        secret: the deployment's, which keys the digests of forgotten events.
    """
    is_ahead_of_time = isinstance(event, SENT_BY_APPS) and is_ahead(event.occurred_at, logged_at, now)
    if receipt is not None and receipt.known:
        name = id_of(event)
        if name is not None and known_as(event.user_id, name, secret) in receipt.known:  # type: ignore[attr-defined]
            return Refused.FORGOTTEN
    if not is_ahead_of_time:
        return None
    # It may be from before, and nothing could tell: not even a dead letter is kept of it.
    return Refused.FORGOTTEN if receipt is not None and _forgets(receipt, event) else Refused.FROM_THE_FUTURE


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
