"""Maps model fields to columns, and items of events to child rows."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic_core import to_json

from operators.contrast import arm_of
from schemas import ItemFacts, Provenance, Ranking, SkillChangeKind, SkillDiff, Tier
from streams.analytics.records import Row

# A column's value: a path of fields, or a function of the event (in a child table, of the item and the event). A path
# through a tuple gives a list, a path through None gives None.
ColumnSource = str | Callable[..., Any]


def _of(path: str, names: str, prefix: str = "") -> dict[str, ColumnSource]:
    return {prefix + name: f"{path}.{name}" for name in names.split()}


def _count(kinds: str) -> ColumnSource:
    found = [SkillChangeKind(kind) for kind in kinds.split()]
    return lambda diff: sum(change.kind in found for change in diff.changes)


def _changes(diff: SkillDiff) -> Iterator[Row]:
    """Yield a diff's seed and changes with their additions to counts."""
    for line in diff.seed or ():
        yield {**dict(line), "kind": "seeded", "before": None, "after": line.tier, "reason": ""}
    for change in diff.changes:
        counts: tuple[int | None, int | None] = change.counts or (None, None)
        if change.discovered is not None:
            counts = change.discovered.taken, change.discovered.expected
        elif change.counts is None and diff.count_delta is not None:
            counts = diff.count_delta.lines.get(change.attribute_id, (0, 0, 0))[:2]
        yield {**dict(change), "taken": counts[0], "expected": counts[1]}


def _facts_of(item: ItemFacts) -> Row:
    facts = [fact._asdict() for fact in item.facts]
    return {"item_id": item.item_id, "facts": facts, "measures": list(item.measures.items())}


def _calls(ranking: Ranking) -> list[tuple[str, Provenance]]:
    injected = ranking.injected
    parts = {"rank": injected.ranked_by, "facets": injected.facets_by, "slim": injected.slim_by}
    return [(part, by) for part, by in parts.items() if by is not None]


_REASONED = "reasoner model prompt prompt_hash calls prompt_tokens completion_tokens latency_ms fallback"
_BOUND = _of("bound", "measure above below")
_STATEMENT = "stance attribute_id dimension value over item_id words scope session_id stated_at until since times"
_EVIDENCE = _of("evidence", "event_id item_id", "evidence_")
_UPDATED: dict[str, ColumnSource] = {"updated_at": "occurred_at"}
_BY_PERSON = "added reworded set restored forgotten"
_COUNTED = "reinforced discovered weakened removed evicted pinned unpinned shifted faded"

# By table; other columns are the fields of the same name.
COLUMNS: Mapping[str, Mapping[str, ColumnSource]] = {
    "items": {
        **_of("item", "item_id title description"),
        "quoted": "quoted.facts.value",
        # Not orjson: metadata may hold integers over 64 bits, and NaN or infinity, which are not JSON.
        "metadata": lambda event: to_json(event.item.metadata, inf_nan_mode="null").decode(),
    },
    "interactions": _of("item", "item_id title"),
    "rank_requests": {"item_ids": "candidates.item_id"},
    "rankings": {
        **_of("injected", "skill_version slim_skill reasoner memory_version graph_epoch repaired"),
        **_of("injected.ranked_by", "model prompt prompt_hash fallback"),
        **_of("injected.fit", "chances nothing suits followed"),
        "item_ids": "candidates.item_id",
        "facets": "injected.facets.facet",
        "question_id": "injected.fit.question.question_id",
        "question_dimension": "injected.fit.question.dimension",
        "question": "injected.fit.question.text",
        "llm_calls": lambda event: sum(by.calls for _, by in _calls(event)),
        "prompt_tokens": lambda event: sum(by.prompt_tokens for _, by in _calls(event)),
        "completion_tokens": lambda event: sum(by.completion_tokens for _, by in _calls(event)),
        "injected": lambda event: event.injected.model_dump_json(),
        "arm": lambda event: arm_of(event.injected),
    },
    "feedback": {
        **_of("item", "item_id title"),
        "scale_worst": lambda event: event.scale and event.scale[0],
        "scale_best": lambda event: event.scale and event.scale[1],
    },
    "corrections": {"item_ids": "items.item_id"},
    "abstentions": {"item_ids": "shown.item_id"},
    "contrasts": {
        **_of("chosen", "item_id title", "chosen_"),
        "unchosen_item_ids": "unchosen.item_id",
        "also_item_ids": "also.item_id",
        "items": lambda event: [_facts_of(item) for item in (event.chosen, *event.also, *event.unchosen)],
    },
    "skill_diffs": {
        **_EVIDENCE,
        **_of("reasoned_by", _REASONED),
        **_of("trigger", "understood words value by_pattern"),
        **{name: _count(name) for name in _COUNTED.split()},
        "trigger": "trigger.what",
        "seeded": lambda event: len(event.seed or ()),
        "by_person": _count(_BY_PERSON),
        "refused": lambda event: len(event.refused),
        "statements": lambda event: len(event.stated),
        "taste_changed": "shifted",
        "session_id": "session.session_id",
    },
    "statement_changes": {
        **_of("statement", _STATEMENT),
        **{name: f"statement.{path}" for name, path in (_BOUND | _EVIDENCE).items()},
    },
    "skills": {
        **_UPDATED,
        **_of("strategy", "must_include tie_breaker"),
        **{str(tier): lambda skill, tier=tier: sum(line.tier is tier for line in skill.attributes) for tier in Tier},
        "attributes": lambda event: len(event.attributes),
        "statements": lambda event: len(event.stated),
    },
    "skill_attributes": {"evidence_event_ids": "evidence.event_id"},
    "statements": {**_BOUND, **_EVIDENCE, "doubtful": lambda stated, skill: stated.since < skill.shifted},
    "slim_skills": _UPDATED,
    "skill_commands": {
        "value": lambda event: event.line.value if event.line else event.value,
        "tier": lambda event: event.line.tier if event.line else event.tier,
    },
    "card_diffs": {
        **_of("reasoned_by", _REASONED),
        "changes": lambda event: len(event.changes),
        "not_kept": lambda event: sum(each.times for each in event.not_kept),
    },
    "card_changes": _of("line", "stance dimension value domain strength overtaken_by"),
    "cards": {
        **_UPDATED,
        "lines": lambda event: len(event.lines),
        "past": lambda event: len(event.past),
        "pinned": lambda event: sum(line.pinned for line in event.lines),
    },
    "card_lines": {
        "version": lambda _, card: card.version,
        "since_version": "version",
        "is_past": lambda line, card: any(line is each for each in card.past),
    },
    "receipts": {
        "forgotten_until": "person.until",
        "actor": "person.actor",
        "domains": lambda event: len(event.domains),
        "lines": lambda event: len(event.lines),
        "done": lambda event: all(each.done for each in event.scopes),
    },
    "global_skills": {**_UPDATED, "attribute_ids": "attributes.attribute_id"},
    "dead_letters": {"source_logged_at": "source.moment", **_of("source", "topic partition offset", "source_")},
    "weights": _UPDATED,
}
# The items of an event that become the rows of a child table.
ITEMS: Mapping[str, ColumnSource] = {
    "ranking_facets": "injected.facets",
    "ranking_calls": lambda ranking: [{"part": part, **dict(by)} for part, by in _calls(ranking)],
    "skill_changes": _changes,
    "skill_refusals": "refused",
    "statement_changes": "stated",
    "skill_attributes": "attributes",
    "statements": "stated",
    "card_changes": "changes",
    "card_receipts": "not_kept",
    "card_lines": lambda card: (*card.lines, *card.past),
}
