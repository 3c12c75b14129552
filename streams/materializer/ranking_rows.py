"""Rows of what users asked for, were shown and took."""

from operators.outcome import arm_of
from schemas import Contrast, Fit, Ranking, RankRequest, ReasonedBy, Selection
from streams.materializer import ranking_tables as tables
from streams.materializer.records import Put, Record, Row, envelope, reasoned


def rank_request(event: RankRequest, record: Record) -> Put:
    """What somebody asked for."""
    item_ids = [c.item_id for c in event.candidates]
    return Put(
        tables.RANK_REQUESTS,
        {
            **envelope(event),
            "domain": event.domain,
            "request_id": event.request_id,
            "instruction": event.instruction,
            "item_ids": item_ids,
            **record.provenance,
            "clarify": event.clarify,
            "session_id": event.session_id,
        },
    )


def ranking(event: Ranking, record: Record) -> Put:
    """What somebody was shown, with one row per injected facet and per reasoned part."""
    told = event.injected
    parts = (("rank", told.ranked_by), ("facets", told.facets_by), ("slim", told.slim_by))
    calls = [(part, by) for part, by in parts if by is not None]
    ranked_by = told.ranked_by or ReasonedBy()
    key = envelope(event)
    row = {
        **key,
        "domain": event.domain,
        "ranking_id": event.ranking_id,
        "instruction": event.instruction,
        "item_ids": [c.item_id for c in event.candidates],
        "ranked_by": event.ranked_by.value,
        "skill_version": told.skill_version,
        "slim_skill": told.slim_skill,
        "reasoner": told.reasoner,
        **record.provenance,
        "facets": [facet.facet for facet in told.facets],
        "memory_version": told.memory_version,
        "graph_epoch": told.graph_epoch,
        "model": ranked_by.model,
        "prompt": ranked_by.prompt,
        "prompt_hash": ranked_by.prompt_hash,
        "llm_calls": sum(by.calls for _, by in calls),
        "prompt_tokens": sum(by.prompt_tokens for _, by in calls),
        "completion_tokens": sum(by.completion_tokens for _, by in calls),
        "repaired": told.repaired,
        "fallback": ranked_by.fallback,
        "injected": told.model_dump_json(),
        "arm": arm_of(told),
        "session_id": event.session_id,
        **_fit(told.fit),
    }
    return Put(tables.RANKINGS, row, (_facets(event, key), [_call(event, key, part, by) for part, by in calls]))


def _fit(fit: Fit | None) -> Row:
    question = fit and fit.question
    return {
        "chances": list(fit.chances) if fit else [],
        "nothing": fit and fit.nothing,
        "suits": fit and fit.suits,
        "honoured": list(fit.honoured) if fit else [],
        "question_id": question and question.question_id,
        "question_dimension": question and question.dimension,
        "question": question and question.text,
    }


def _facets(event: Ranking, key: Row) -> list[Row]:
    return [
        {
            **key,
            "seq": seq,
            "domain": event.domain,
            "facet": f.facet,
            "attribute_id": f.attribute_id,
            "confidence": f.confidence,
            "supporting_neighbors": list(f.supporting_neighbors),
        }
        for seq, f in enumerate(event.injected.facets, start=1)
    ]


def _call(event: Ranking, key: Row, part: str, by: ReasonedBy) -> Row:
    return {**key, "part": part, "domain": event.domain, **reasoned(by)}


def selection(event: Selection, record: Record) -> Put:
    """What somebody took."""
    return Put(
        tables.SELECTIONS,
        {
            **envelope(event),
            "ranking_id": event.ranking_id,
            "item_id": event.item_id,
            "skill_version": event.skill_version,
            **record.provenance,
            "others": list(event.others),
            "in_order": event.in_order,
            "none_taken": event.none_taken,
            "session_id": event.session_id,
        },
    )


def contrast(event: Contrast, record: Record) -> Put:
    """The chosen against the unchosen."""
    return Put(
        tables.CONTRASTS,
        {
            **envelope(event),
            "domain": event.domain,
            "ranking_id": event.ranking_id,
            "instruction": event.instruction,
            "chosen_item_id": event.chosen.item_id,
            "chosen_title": event.chosen.title,
            "chosen_rank": event.chosen_rank,
            "unchosen_item_ids": [item.item_id for item in event.unchosen],
            "skill_version": event.skill_version,
            **record.provenance,
            "arm": event.arm,
            "also_item_ids": [item.item_id for item in event.also],
            "in_order": event.in_order,
            "session_id": event.session_id,
        },
    )
