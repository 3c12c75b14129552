"""Turns records into rows: one function for all models, with a table of columns that are no plain field."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter, itemgetter
from typing import Any

import orjson
import pyarrow as pa
from pydantic_core import to_json

from operators.outcome import arm_of
from operators.privacy import DEFAULT, Privacy
from operators.seals import authenticated
from schemas import ONE, TOPICS, BadRecord, ChangeKind, Key, Model, Ranking, ReasonedBy, SkillDiff, Tier, Topic, decode
from streams.kafka.packed import unpack
from streams.materializer.forgetting import Barrier
from streams.materializer.private import redacted
from streams.materializer.records import Drop, Put, Record, Row, RowKey, from_ms, utc
from streams.materializer.schema import TOPIC_TABLES, Table, table_of

_BIGINT = 2**63
RECORD = ("document", "logged_at", "kafka_partition", "kafka_offset")
"""Columns of the record itself."""

Source = str | Callable[..., Any]
"""A column's value: a path of fields, or a function of the event and, in a child table, of the item and the event.

A path through a tuple gives a list, a path through None gives None.
"""


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
_COUNTED = "reinforced discovered weakened removed evicted pinned unpinned shifted faded"

COLUMNS: Mapping[str, Mapping[str, Source]] = {
    "items": {
        **_of("item", "item_id title description"),
        # Not orjson: metadata may hold integers over 64 bits, and NaN or infinity, which are not JSON.
        "metadata": lambda event: to_json(event.item.metadata, inf_nan_mode="null").decode(),
    },
    "interactions": _of("item", "item_id title"),
    "rank_requests": {"item_ids": "candidates.item_id"},
    "rankings": {
        **_of("injected", "skill_version slim_skill reasoner memory_version graph_epoch repaired"),
        **_of("injected.ranked_by", "model prompt prompt_hash fallback"),
        **_of("injected.fit", "chances nothing suits honoured"),
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
    "correction_directives": _BOUND,
    "abstentions": {"item_ids": "shown.item_id"},
    "contrasts": {
        "chosen_item_id": "chosen.item_id",
        "chosen_title": "chosen.title",
        "unchosen_item_ids": "unchosen.item_id",
        "also_item_ids": "also.item_id",
    },
    "skill_diffs": {
        **_EVIDENCE,
        **_of("reasoned_by", _REASONED),
        **_of("heard", "understood words value by_pattern"),
        **{name: _count(ChangeKind(name)) for name in _COUNTED.split()},
        "heard": "heard.what",
        "seeded": lambda event: len(event.seed or ()),
        "by_person": _count(*_BY_PERSON),
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
        **{str(tier): _tier(tier) for tier in Tier},
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
    "dead_letters": {
        "source_logged_at": "source.moment",
        "source_topic": "source.topic",
        "source_partition": "source.partition",
        "source_offset": "source.offset",
    },
    "weights": _UPDATED,
}
"""Columns that are no field of their model with the same name, by table."""
ITEMS: Mapping[str, Source] = {
    "ranking_facets": "injected.facets",
    "ranking_calls": lambda ranking: [{"part": part, **dict(by)} for part, by in _calls(ranking)],
    "correction_directives": "says",
    "skill_changes": _changes,
    "skill_refusals": "refused",
    "skill_places": _places,
    "statement_changes": "stated",
    "skill_attributes": "attributes",
    "statements": "stated",
    "skill_sessions": "sessions",
    "session_lines": lambda skill: [
        {"session_id": session.session_id, **dict(line)} for session in skill.sessions for line in session.lines
    ],
    "card_changes": "changes",
    "card_receipts": "not_kept",
    "card_lines": lambda card: (*card.lines, *card.past),
}
"""The items of an event that become the rows of a child table."""
PUBLIC_TOPICS: tuple[Topic, ...] = tuple(topic for topic in TOPICS.values() if topic.base in TOPIC_TABLES)
"""The topics that become rows."""


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
    table = table_of(record.topic)
    row = _reader(table)(event)
    row["logged_at"] = from_ms(record.timestamp_ms)
    row["kafka_partition"], row["kafka_offset"] = record.partition, record.offset
    if "document" in table.names:
        row["document"] = record.document
    children = tuple([_child_rows(child, event) for child in table.children])
    return Put(table, row, children, replaces=isinstance(event, SkillDiff) and event.rewritten > 0)


def _child_rows(table: Table, event: Model) -> list[Row]:
    source = ITEMS[table.name]
    items = list(_at(event, source) if isinstance(source, str) else source(event))
    if not items:
        return []
    is_dict = isinstance(items[0], dict)
    of_event, of_item = _child_readers(table, frozenset(items[0] if is_dict else type(items[0]).model_fields), is_dict)
    shared = of_event(event)
    rows = [shared | of_item(item, event) for item in items]
    for name in {"seq", "place"} & set(table.names):
        for number, row in enumerate(rows, start=1):
            row[name] = number
    return rows


class _Reader:
    """Reads columns of an object: plain fields all at once, others by their source. Then it converts them.

    Args:
        table: their table.
        names: the columns.
        is_dict: true if the object is a dictionary.
    """

    def __init__(self, table: Table, names: Sequence[str], *, is_dict: bool = False) -> None:
        sources = {name: COLUMNS.get(table.name, {}).get(name, name) for name in names}
        self._names = [name for name, source in sources.items() if isinstance(source, str) and "." not in source]
        fields = [str(sources[name]) for name in self._names]
        # A getter of one name would return no tuple.
        self._fields = (itemgetter if is_dict else attrgetter)(*fields, *fields[:1]) if fields else lambda _: ()
        self._others = [(name, source) for name, source in sources.items() if name not in self._names]
        found = {name: _converter(name, table.arrow.field(name).type) for name in names}
        self._converters = [(name, convert) for name, convert in found.items() if convert is not None]

    def __call__(self, item: Any, *event: Model) -> Row:
        row = dict(zip(self._names, self._fields(item), strict=False))
        for name, source in self._others:
            row[name] = _at(item, source) if isinstance(source, str) else source(item, *event)
        for name, convert in self._converters:
            if row[name] is not None:
                row[name] = convert(row[name])
        return row


@cache
def _reader(table: Table) -> _Reader:
    return _Reader(table, [name for name in table.names if name not in RECORD])


@cache
def _child_readers(table: Table, fields: frozenset[str], is_dict: bool) -> tuple[_Reader, _Reader]:
    """Read the columns of the event, and those of an item."""
    declared = COLUMNS.get(table.name, {})
    of_item = [name for name in table.names if name in fields or name in declared]
    of_event = [name for name in table.names if name not in (*of_item, "seq", "place")]
    return _Reader(table, of_event), _Reader(table, of_item, is_dict=is_dict)


def _at(item: Any, path: str) -> Any:
    """The value at the end of a path."""
    first, _, rest = path.partition(".")
    value = getattr(item, first)
    if not rest or value is None:
        return value
    return [_at(each, rest) for each in value] if isinstance(value, tuple) else _at(value, rest)


def _converter(name: str, kind: Any) -> Callable[[Any], Any] | None:
    """The function that converts a model's value for a column; None if there is nothing to convert."""
    if pa.types.is_timestamp(kind):
        return utc
    if pa.types.is_floating(kind):
        return lambda value: value / ONE if isinstance(value, int) else value  # evidence is in fixed point
    if pa.types.is_integer(kind):
        return _fitting
    if pa.types.is_list(kind):
        return list
    return str if name in ("tier", "before", "after") else None


def _fitting(value: int) -> int:
    """Refuse a number that fits into no column: its row would fail its batch for ever."""
    if not -_BIGINT <= value < _BIGINT:
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
