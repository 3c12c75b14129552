"""The table of how a shadow arm ranked beside the live skills, and its rows."""

from schemas import ShadowOutcome
from streams.materializer.columns import Table, number, text
from streams.materializer.fields import DOMAIN, ENVELOPE, EVENT_KEY, PROVENANCE, RANKING_ID
from streams.materializer.records import Put, Record, envelope

SHADOW_OUTCOMES = Table(
    "shadow_outcomes",
    "One row per choice of a user whom a shadow arm follows: the ranks that the live and the shadow skill would have "
    "given the chosen item, before either learned from it. The same candidates and ranker for both",
    EVENT_KEY,
    (
        *ENVELOPE,
        DOMAIN,
        text("arm", "The shadow arm's name"),
        RANKING_ID,
        number("candidates", "How many there were to choose from"),
        number("live_rank", "The rank that the live skill gives the chosen item; 1 is the top"),
        number("shadow_rank", "The rank that the shadow skill gives it"),
        number("live_version", "The live skill's version; 0: the prior alone"),
        number("shadow_version", "The shadow skill's version"),
        number("live_contrasts", "How many choices the live skill had learned from"),
        number("shadow_contrasts", "How many choices the shadow skill had learned from: fewer where it missed some"),
        *PROVENANCE,
    ),
)


def shadow_outcome(event: ShadowOutcome, record: Record) -> Put:
    """The ranks that both skills gave the chosen item."""
    return Put(
        SHADOW_OUTCOMES,
        {
            **envelope(event),
            "domain": event.domain,
            "arm": event.arm,
            "ranking_id": event.ranking_id,
            "candidates": event.candidates,
            "live_rank": event.live_rank,
            "shadow_rank": event.shadow_rank,
            "live_version": event.live_version,
            "shadow_version": event.shadow_version,
            "live_contrasts": event.live_contrasts,
            "shadow_contrasts": event.shadow_contrasts,
            **record.provenance,
        },
    )
