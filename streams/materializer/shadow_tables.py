"""The table of what a shadow arm was worth beside the live skills, and how its rows come about."""

from schemas import ShadowOutcome
from streams.materializer.columns import Table, number, text
from streams.materializer.fields import DOMAIN, ENVELOPE, EVENT_KEY, PROVENANCE, RANKING_ID
from streams.materializer.records import Put, Record, envelope

SHADOW_OUTCOMES = Table(
    "shadow_outcomes",
    "One row per choice of a user whom a shadow arm follows: where the live and the shadow skill would have put what "
    "was taken, before either learned from it. The same candidates and ranker for both",
    EVENT_KEY,
    (
        *ENVELOPE,
        DOMAIN,
        text("arm", "The shadow arm's name"),
        RANKING_ID,
        number("candidates", "How many there were to choose from"),
        number("live_rank", "The place that the live skill gives the chosen item; 1 is the top"),
        number("shadow_rank", "The place that the shadow skill gives it"),
        number("live_version", "The live skill's version; 0: the prior alone"),
        number("shadow_version", "The shadow skill's version"),
        number("live_contrasts", "How many choices the live skill had learned from"),
        number("shadow_contrasts", "How many the shadow skill had: fewer where it missed some"),
        *PROVENANCE,
    ),
)


def shadow_outcome(event: ShadowOutcome, record: Record) -> Put:
    """How both skills ranked."""
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
