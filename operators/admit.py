"""Admission of events by their times and ids, the same in workers and the materializer.

Times alone do not suffice: an erased event that is sent again with another time would pass as new.
"""

from datetime import datetime
from enum import StrEnum

from operators.clocks import is_ahead
from operators.contrast import contrast_id
from schemas import CardCommand, CardDiff, Correction, Model, Receipt, SkillCommand, SkillDiff, Utterance, known_as
from schemas.events import Abstention, Contrast, Feedback, Interaction, Ranking, RankRequest, Selection

_BY_APPS = (Interaction, RankRequest, Ranking, Selection, Feedback, Correction, Utterance, SkillCommand, CardCommand)
"""Events with bounded times. The time of a request to forget has no effect."""


class Refused(StrEnum):
    """The reason to refuse an event, also of its dead letter."""

    FORGOTTEN = "forgotten"
    FROM_THE_FUTURE = "from-the-future"


def refused(
    event: Model, logged_at: datetime | None, now: datetime, receipt: Receipt | None = None, secret: bytes = b""
) -> Refused | None:
    """Return the reason to refuse an event; None to admit it."""
    if receipt is not None and receipt.known:
        name = id_of(event)
        if name is not None and known_as(event.user_id, name, secret) in receipt.known:  # type: ignore[attr-defined]
            return Refused.FORGOTTEN
    if not isinstance(event, _BY_APPS) or not is_ahead(event.occurred_at, logged_at or now):
        return None
    # It may be from before the erasure: not even a dead letter is kept.
    return Refused.FORGOTTEN if receipt is not None and _forgets(receipt, event) else Refused.FROM_THE_FUTURE


def _forgets(receipt: Receipt, event: Model) -> bool:
    # An event without a domain may be of any.
    domain = getattr(event, "domain", None)
    return receipt.person is not None or (bool(receipt.domains) if domain is None else domain in receipt.domains)


def id_of(event: Model) -> str | None:
    """Return the id that a receipt knows an event by; None if nothing is learned from it."""
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
