"""Turns records into rows: one function for all models, with a table of columns that are no plain field."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from enum import Enum, IntEnum
from typing import Any, NamedTuple

import orjson
import pyarrow as pa
from pydantic_core import to_json

import schemas
from operators.outcome import arm_of
from operators.privacy import DEFAULT, Privacy
from operators.seals import authenticated
from schemas import ONE, TOPICS, BadRecord, ChangeKind, Key, Model, Ranking, ReasonedBy, SkillDiff, Tier, Topic, decode
from streams.kafka.packed import unpack
from streams.materializer.forgetting import Barrier
from streams.materializer.private import redacted
from streams.materializer.records import Drop, Put, Record, Row, RowKey, from_ms, utc
from streams.materializer.schema import Table, all_tables

_BIGINT = 2**63

Source = str | Callable[..., Any]
"""A column's value: a path of fields, or a function of the event and, in a child table, of the item and the event.

A path through a tuple gives a list, a path through None gives None.
"""


class Child(NamedTuple):
    """A child table: the items that become its rows, and the columns that are no field of an item or of its event."""

    table: str
    items: Source
    columns: Mapping[str, Source] = {}


class Rows(NamedTuple):
    """The table of a topic, the columns that are no plain field of its model, and its child tables."""

    table: str
    columns: Mapping[str, Source] = {}
    children: tuple[Child, ...] = ()


def _of(path: str, names: str) -> dict[str, Source]:
    """Columns that are fields of a nested model."""
    return {name: f"{path}.{name}" for name in names.split()}


def _count(*kinds: ChangeKind) -> Source:
    return lambda diff: sum(change.kind in kinds for change in diff.changes)


def _tier(tier: Tier) -> Source:
    return lambda skill: sum(line.tier is tier for line in skill.attributes)


def _changes(diff: SkillDiff) -> Iterator[Row]:
    """The changes of a diff, those of its seed first, each with its addition to the line's counts.

    For a new line, or one that a person set, these are its counts.
    """
    for line in diff.seed or ():
        yield {**dict(line), "kind": "seeded", "before": None, "after": line.tier, "reason": ""}
    for change in diff.changes:
        counts: tuple[int | None, int | None] = (None, None)
        if change.discovered is not None:
            counts = change.discovered.taken, change.discovered.expected
        elif change.counts is not None:
            counts = change.counts
        elif diff.tally is not None:
            counts = diff.tally.lines.get(change.attribute_id, (0, 0))
        yield {**dict(change), "taken": counts[0], "expected": counts[1]}


def _places(diff: SkillDiff) -> Iterator[Row]:
    for name, moved in diff.tally.places.items() if diff.tally else ():
        yield {"attribute_id": name, "places": moved}


def _calls(ranking: Ranking) -> list[tuple[str, ReasonedBy]]:
    """The parts of a ranking that a reasoner made."""
    parts = {"rank": "ranked_by", "facets": "facets_by", "slim": "slim_by"}
    found = {part: getattr(ranking.injected, name) for part, name in parts.items()}
    return [(part, by) for part, by in found.items() if by is not None]


_REASONED = "reasoner model prompt prompt_hash calls prompt_tokens completion_tokens latency_ms fallback gated"
_BOUND = _of("bound", "measure above below")
_STATEMENT = "stance attribute_id dimension value over item_id words scope session_id said_at until since times"
_EVIDENCE: dict[str, Source] = {"evidence_event_id": "evidence.event_id", "evidence_item_id": "evidence.item_id"}
_UPDATED: dict[str, Source] = {"updated_at": "occurred_at"}
_BY_PERSON = (ChangeKind.ADDED, ChangeKind.REWORDED, ChangeKind.SET, ChangeKind.RESTORED, ChangeKind.FORGOTTEN)
_COUNTED = ("reinforced", "discovered", "weakened", "removed", "evicted", "pinned", "unpinned", "shifted", "faded")

MAPPINGS: Mapping[type[Model], Rows] = {
    schemas.Item: Rows(
        "items",
        {
            **_of("item", "item_id title description"),
            # Not orjson: metadata may hold integers over 64 bits, and NaN or infinity, which are not JSON.
            "metadata": lambda event: to_json(event.item.metadata, inf_nan_mode="null").decode(),
        },
    ),
    schemas.Interaction: Rows("interactions", _of("item", "item_id title")),
    schemas.RankRequest: Rows("rank_requests", {"item_ids": "candidates.item_id"}),
    Ranking: Rows(
        "rankings",
        {
            "item_ids": "candidates.item_id",
            **_of("injected", "skill_version slim_skill reasoner memory_version graph_epoch repaired"),
            **_of("injected.ranked_by", "model prompt prompt_hash fallback"),
            **_of("injected.fit", "chances nothing suits honoured"),
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
        (
            Child("ranking_facets", "injected.facets"),
            Child("ranking_calls", lambda event: [{"part": part, **dict(by)} for part, by in _calls(event)]),
        ),
    ),
    schemas.Selection: Rows("selections"),
    schemas.Feedback: Rows(
        "feedback",
        {
            **_of("item", "item_id title"),
            "scale_worst": lambda event: event.scale and event.scale[0],
            "scale_best": lambda event: event.scale and event.scale[1],
        },
    ),
    schemas.Correction: Rows(
        "corrections", {"item_ids": "items.item_id"}, (Child("correction_directives", "says", _BOUND),)
    ),
    schemas.Abstention: Rows("abstentions", {"item_ids": "shown.item_id"}),
    schemas.Contrast: Rows(
        "contrasts",
        {
            "chosen_item_id": "chosen.item_id",
            "chosen_title": "chosen.title",
            "unchosen_item_ids": "unchosen.item_id",
            "also_item_ids": "also.item_id",
        },
    ),
    SkillDiff: Rows(
        "skill_diffs",
        {
            **_EVIDENCE,
            **_of("reasoned_by", _REASONED),
            **_of("heard", "understood words value by_pattern"),
            **{name: _count(ChangeKind(name)) for name in _COUNTED},
            "heard": "heard.what",
            "seeded": lambda event: len(event.seed or ()),
            "by_person": _count(*_BY_PERSON),
            "refused": lambda event: len(event.refused),
            "statements": lambda event: len(event.stated),
            "taste_changed": "shifted",
            "session_id": "session.session_id",
        },
        (
            Child("skill_changes", _changes),
            Child("skill_refusals", "refused"),
            Child("skill_places", _places),
            Child(
                "statement_changes",
                "stated",
                {
                    **_of("statement", _STATEMENT),
                    **_of("statement.bound", "measure above below"),
                    "evidence_event_id": "statement.evidence.event_id",
                    "evidence_item_id": "statement.evidence.item_id",
                },
            ),
        ),
    ),
    schemas.PolicySkill: Rows(
        "skills",
        {
            **_UPDATED,
            **_of("strategy", "must_include tie_breaker"),
            **{str(tier): _tier(tier) for tier in Tier},
            "attributes": lambda event: len(event.attributes),
            "statements": lambda event: len(event.stated),
        },
        (
            Child("skill_attributes", "attributes", {"evidence_event_ids": "evidence.event_id"}),
            Child(
                "statements",
                "stated",
                {**_BOUND, **_EVIDENCE, "doubtful": lambda stated, skill: stated.since < skill.shifted},
            ),
            Child("skill_sessions", "sessions"),
            Child(
                "session_lines",
                lambda skill: [{**dict(line), **_of_session(each)} for each in skill.sessions for line in each.lines],
            ),
        ),
    ),
    schemas.SlimSkill: Rows("slim_skills", _UPDATED),
    schemas.SkillCommand: Rows(
        "skill_commands",
        {
            "value": lambda event: event.line.value if event.line else event.value,
            "tier": lambda event: event.line.tier if event.line else event.tier,
        },
    ),
    schemas.CardDiff: Rows(
        "card_diffs",
        {
            **_of("reasoned_by", _REASONED),
            "changes": lambda event: len(event.changes),
            "not_kept": lambda event: sum(each.times for each in event.not_kept),
        },
        (
            Child("card_changes", "changes", _of("line", "stance dimension value domain strength overtaken_by")),
            Child("card_receipts", "not_kept"),
        ),
    ),
    schemas.Card: Rows(
        "cards",
        {
            **_UPDATED,
            "lines": lambda event: len(event.lines),
            "past": lambda event: len(event.past),
            "pinned": lambda event: sum(line.pinned for line in event.lines),
        },
        (
            Child(
                "card_lines",
                lambda card: (*card.lines, *card.past),
                {
                    "version": lambda _, card: card.version,
                    "since_version": "version",
                    "is_past": lambda line, card: any(line is each for each in card.past),
                },
            ),
        ),
    ),
    schemas.Receipt: Rows(
        "receipts",
        {
            "forgotten_until": "person.until",
            "actor": "person.actor",
            "domains": lambda event: len(event.domains),
            "lines": lambda event: len(event.lines),
            "done": lambda event: all(each.done for each in event.scopes),
        },
    ),
    schemas.GlobalSkill: Rows("global_skills", {**_UPDATED, "attribute_ids": "attributes.attribute_id"}),
    schemas.DeadLetter: Rows(
        "dead_letters",
        {
            "source_logged_at": "source.moment",
            "source_topic": "source.topic",
            "source_partition": "source.partition",
            "source_offset": "source.offset",
        },
    ),
    schemas.Weights: Rows("weights", _UPDATED),
}
PUBLIC_TOPICS: tuple[Topic, ...] = tuple(TOPICS[model.TOPIC] for model in MAPPINGS)  # type: ignore[attr-defined]
"""The topics that become rows."""


def _of_session(session: Any) -> Row:
    return {"session_id": session.session_id}


def table_of(topic: Topic) -> Table:
    """Return the table of a public topic's records."""
    return all_tables()[MAPPINGS[topic.model].table]


def read(
    record: Record, privacy: Privacy = DEFAULT, barrier: Barrier | None = None, ranking_key: bytes | None = None
) -> Put | Drop | None:
    """Return the change that one record makes; None for a record from before its user was erased.

    A record without a value on a compacted topic is a tombstone.

    Args:
        record: of any public topic.
        privacy: the filter of free text.
        barrier: the erased events.
        ranking_key: the secret that seals rankings; None where this process has none.

    Raises:
        BadRecord: its bytes are not a value of the topic, or hold a number too large for any column.
    """
    topic = record.topic
    if topic.compact and record.value is None:
        return Drop(table_of(topic), _key_of_tombstone(topic, record.key))
    try:
        event = decode(topic.model, unpack(record.value or b""))
        if barrier is not None and barrier.covers(event, record.logged_at):
            return None
        if isinstance(event, Ranking):
            event = authenticated(event, ranking_key)
        put = rows_of(redacted(event, privacy), record)
        return put if barrier is None else barrier.blanked(put, event)
    except BadRecord:
        raise
    except Exception as error:
        # No record may stop the stream, whatever error it causes here (invariant 9).
        raise BadRecord("invalid", f"{type(error).__name__}: {error}") from error


def rows_of(event: Model, record: Record) -> Put:
    """Return the row of an event and those of its child tables."""
    mapping = MAPPINGS[type(event)]
    table = all_tables()[mapping.table]
    row: Row = {
        "logged_at": from_ms(record.timestamp_ms),
        "kafka_partition": record.partition,
        "kafka_offset": record.offset,
    }
    if "document" in table.names:
        row["document"] = record.document
    for name in table.names:
        if name not in row:
            row[name] = _plain(_value(event, mapping.columns.get(name, name)), table.arrow.field(name).type)
    children = tuple(list(_child_rows(child, event)) for child in mapping.children)
    return Put(table, row, children, replaces=isinstance(event, SkillDiff) and event.rewritten > 0)


def _child_rows(child: Child, event: Model) -> Iterator[Row]:
    table = all_tables()[child.table]
    items: Iterable[Any] = _value(event, child.items)
    for number, item in enumerate(items, start=1):
        row = {}
        for name in table.names:
            if name in child.columns:
                value = _value(item, child.columns[name], event)
            elif name in ("seq", "place"):
                value = number
            elif isinstance(item, dict):
                value = item[name] if name in item else getattr(event, name)
            else:
                value = getattr(item if hasattr(item, name) else event, name)
            row[name] = _plain(value, table.arrow.field(name).type)
        yield row


def _value(item: Any, source: Source, *event: Model) -> Any:
    if not isinstance(source, str):
        return source(item, *event)
    first, _, rest = source.partition(".")
    value = getattr(item, first)
    if not rest or value is None:
        return value
    return [_value(each, rest) for each in value] if isinstance(value, tuple) else _value(value, rest)


def _plain(value: Any, kind: Any) -> Any:
    """The value as its column has it: times in UTC, names of enums, and counts as real numbers."""
    if isinstance(value, datetime):
        return utc(value)
    if isinstance(value, Enum):
        return str(value) if isinstance(value, IntEnum) else value.value
    if isinstance(value, tuple | list):
        return [_plain(each, kind.value_type) for each in value]
    if isinstance(value, int) and pa.types.is_floating(kind):
        return value / ONE  # models count evidence in fixed point
    if isinstance(value, int) and not -_BIGINT <= value < _BIGINT:
        # A row that does not fit would fail its batch for ever.
        raise BadRecord("invalid", "a number does not fit into 64 bits")
    return value


_PARTS = {
    Key.USER_AND_DOMAIN: (str, str),
    Key.USER_AND_VERSION: (str, int),
    Key.USER_DOMAIN_AND_VERSION: (str, str, int),
}
"""The types of a compound key's parts."""


def _key_of_tombstone(topic: Topic, key: bytes | None) -> RowKey:
    try:
        if topic.key not in _PARTS:
            if key:
                return (key.decode(),)
        elif isinstance(parts := orjson.loads(key or b""), list) and tuple(map(type, parts)) == _PARTS[topic.key]:
            return tuple(parts)
    except ValueError:  # also orjson's error and UnicodeDecodeError
        pass
    raise BadRecord("invalid", f"a tombstone whose key is not {topic.key.value}")
