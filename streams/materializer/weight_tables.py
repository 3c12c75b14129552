"""The table of what the domains' rankings go by, and its rows."""

from schemas import Weights
from streams.materializer.columns import Keep, Table, flag, moment, number
from streams.materializer.fields import DOCUMENT, DOMAIN, EVENT_ID, PROVENANCE
from streams.materializer.records import Put, Record, utc

WEIGHTS = Table(
    "weights",
    "What counts how much in a domain's rankings, as learned from its choices; learned_weights has it by part",
    ("domain",),
    (
        DOMAIN,
        number("version", "How many outcomes and commands it has taken in; a ranking says by which it was ordered"),
        number("choices", "How many choices it has learned from since the start or the last reset"),
        flag("frozen", "Whether it learns no more"),
        EVENT_ID,
        moment("updated_at", "The hour of the newest choice, or the moment of the command, that it has taken in"),
        DOCUMENT,
        *PROVENANCE,
    ),
    Keep.LAST,
)


def weights(event: Weights, record: Record) -> Put:
    """What a domain's rankings go by now."""
    return Put(
        WEIGHTS,
        {
            "domain": event.domain,
            "version": event.version,
            "choices": event.choices,
            "frozen": event.frozen,
            "event_id": event.event_id,
            "updated_at": utc(event.occurred_at),
            "document": record.document,
            **record.provenance,
        },
    )
