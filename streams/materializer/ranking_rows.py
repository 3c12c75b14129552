"""Events around rankings to rows: what was asked for, shown and taken."""

from operators.outcome import arm_of
from schemas import Contrast, Ranking, RankRequest, ReasonedBy, Selection
from streams.materializer import ranking_tables as tables
from streams.materializer.records import Put, Record, Row, envelope, utc


def rank_request(event: RankRequest, record: Record) -> Put:
    """What somebody asked for."""
    item_ids = [c.item_id for c in event.candidates]
    return Put(
        tables.RANK_REQUESTS,
        (*envelope(event), event.domain, event.request_id, event.instruction, item_ids, *record.provenance),
    )


def ranking(event: Ranking, record: Record) -> Put:
    """What somebody was shown, with one row per injected facet and per part that somebody reasoned."""
    told = event.injected
    parts = (("rank", told.ranked_by), ("facets", told.facets_by), ("slim", told.slim_by))
    calls = [(part, by) for part, by in parts if by is not None]
    ranked_by = told.ranked_by or ReasonedBy()
    row = (
        *envelope(event),
        event.domain,
        event.ranking_id,
        event.instruction,
        [c.item_id for c in event.candidates],
        event.ranked_by.value,
        told.skill_version,
        told.slim_skill,
        told.reasoner,
        *record.provenance,
        [facet.facet for facet in told.facets],
        told.memory_version,
        told.graph_epoch,
        ranked_by.model,
        ranked_by.prompt,
        ranked_by.prompt_hash,
        sum(by.calls for _, by in calls),
        sum(by.prompt_tokens for _, by in calls),
        sum(by.completion_tokens for _, by in calls),
        told.repaired,
        ranked_by.fallback,
        told.model_dump_json(),
        arm_of(told),
    )
    return Put(tables.RANKINGS, row, (_facets(event), [_call(event, part, by) for part, by in calls]))


def _facets(event: Ranking) -> list[Row]:
    when = (event.domain, utc(event.occurred_at))
    return [
        (event.user_id, event.event_id, seq, *when, f.facet, f.attribute_id, f.confidence, list(f.supporting_neighbors))
        for seq, f in enumerate(event.injected.facets, start=1)
    ]


def _call(event: Ranking, part: str, by: ReasonedBy) -> Row:
    return (
        event.user_id,
        event.event_id,
        part,
        event.domain,
        utc(event.occurred_at),
        by.reasoner,
        by.model,
        by.prompt,
        by.prompt_hash,
        by.calls,
        by.prompt_tokens,
        by.completion_tokens,
        by.latency_ms,
        by.fallback,
        by.gated,
    )


def selection(event: Selection, record: Record) -> Put:
    """What somebody took."""
    return Put(
        tables.SELECTIONS,
        (*envelope(event), event.ranking_id, event.item_id, event.skill_version, *record.provenance),
    )


def contrast(event: Contrast, record: Record) -> Put:
    """The chosen against the unchosen."""
    return Put(
        tables.CONTRASTS,
        (
            *envelope(event),
            event.domain,
            event.ranking_id,
            event.instruction,
            event.chosen.item_id,
            event.chosen.title,
            event.chosen_rank,
            [item.item_id for item in event.unchosen],
            event.skill_version,
            *record.provenance,
            event.arm,
        ),
    )
