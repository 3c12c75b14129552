"""Converts records to rows, without personal data in free text."""

from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter, itemgetter
from typing import Any

import orjson
import pyarrow as pa

from operators.language.privacy import Privacy
from operators.seals import without_unproven_fields
from schemas import ONE, BadRecord, Correction, Item, Model, OptOut, SkillCommand, SkillDiff, decode, moment_of
from schemas.cards import CardDiff
from schemas.events import Abstention, Contrast, Feedback, Injected, Interaction, Ranking, RankRequest
from schemas.topics import TOPICS, Key, Topic
from streams.analytics.columns import COLUMNS, ITEMS
from streams.analytics.erasure import ErasureFilter
from streams.analytics.records import Drop, KafkaRecord, Put, Row, RowKey, utc
from streams.analytics.schema import TOPIC_TABLES, Table, table_of

# The topics that become rows.
PUBLIC_TOPICS: tuple[Topic, ...] = tuple(topic for topic in TOPICS.values() if topic.base in TOPIC_TABLES)
_WITHHELD, _NOTHING = "private:", Injected()


def read(
    record: KafkaRecord, privacy: Privacy, barrier: ErasureFilter | None = None, ranking_key: bytes | None = None
) -> Put | Drop | None:
    """Return a record's change; None if its user was erased since.

    `ranking_key` is the secret that seals rankings, if this process has it. Raises BadRecord if the bytes are not a
    value of the topic, or hold a number too large for any column.
    """
    topic = record.topic
    if topic.compact and record.value is None:
        return Drop(table_of(topic.base), _key_of_tombstone(topic, record.key))
    try:
        event = decode(topic.model, record.value)
        if barrier is not None and barrier.covers(event, record.logged_at):
            return None
        if isinstance(event, Ranking):
            event = without_unproven_fields(event, ranking_key)
        put = _rows_of(_redacted(event, privacy), record)
        return put if barrier is None else barrier.blanked(put, event)
    except BadRecord:
        raise
    except Exception as error:
        # No record may stop the stream, whatever error it causes here (invariant 9).
        raise BadRecord("invalid", f"{type(error).__name__}: {error}") from error


def _rows_of(event: Model, record: KafkaRecord) -> Put:
    table = table_of(record.topic.base)
    row = _reader(table)(event)
    row["logged_at"] = utc(moment_of(record.timestamp_ms))
    row["kafka_partition"], row["kafka_offset"] = record.partition, record.offset
    if "document" in table.names:
        row["document"] = (record.value or b"").decode()
    children = tuple([_child_rows(child, event) for child in table.children])
    # A card's log has no counter of erasures: another diff of its version is without an erased line.
    rewrites = isinstance(event, CardDiff) or (isinstance(event, SkillDiff) and event.rewritten > 0)
    return Put(table, row, children, replaces=rewrites)


def _child_rows(table: Table, event: Model) -> list[Row]:
    source = ITEMS[table.name]
    items = list(_at(event, source) if isinstance(source, str) else source(event))
    if not items:
        return []
    is_dict = isinstance(items[0], dict)
    of_event, of_item = _child_readers(table, frozenset(items[0] if is_dict else type(items[0]).model_fields), is_dict)
    shared, numbered = of_event(event), {"seq", "place"} & set(table.names)
    return [shared | of_item(item, event) | dict.fromkeys(numbered, n) for n, item in enumerate(items, start=1)]


class _ColumnReader:
    """Reads and converts the columns of an object."""

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
def _reader(table: Table) -> _ColumnReader:
    of_record = ("document", "logged_at", "kafka_partition", "kafka_offset")
    return _ColumnReader(table, [name for name in table.names if name not in of_record])


@cache
def _child_readers(table: Table, fields: frozenset[str], is_dict: bool) -> tuple[_ColumnReader, _ColumnReader]:
    declared = COLUMNS.get(table.name, {})
    of_item = [name for name in table.names if name in fields or name in declared]
    of_event = [name for name in table.names if name not in (*of_item, "seq", "place")]
    return _ColumnReader(table, of_event), _ColumnReader(table, of_item, is_dict=is_dict)


def _at(item: Any, path: str) -> Any:
    first, _, rest = path.partition(".")
    value = getattr(item, first)
    if not rest or value is None:
        return value
    is_many = isinstance(value, tuple) and not hasattr(value, "_fields")  # a named tuple is one value
    return [_at(each, rest) for each in value] if is_many else _at(value, rest)


def _converter(name: str, kind: Any) -> Callable[[Any], Any] | None:
    if pa.types.is_timestamp(kind):
        return utc
    if pa.types.is_floating(kind):
        return lambda value: value / ONE if isinstance(value, int) else value  # evidence is in fixed point
    if pa.types.is_integer(kind):
        return _check_range
    if pa.types.is_list(kind):
        return list
    return str if name in ("tier", "before", "after") else None


def _check_range(value: int) -> int:
    # A number that fits into no column would fail its batch for ever.
    if not -(2**63) <= value < 2**63:
        raise BadRecord("invalid", "a number does not fit into 64 bits")
    return value


def _key_of_tombstone(topic: Topic, key: bytes | None) -> RowKey:
    compound: dict[Key, tuple[type, ...]] = {
        Key.USER_AND_DOMAIN: (str, str),
        Key.USER_AND_VERSION: (str, int),
        Key.USER_DOMAIN_AND_VERSION: (str, str, int),
    }
    try:
        if topic.key not in compound:
            if key:
                return (key.decode(),)
        elif isinstance(parts := orjson.loads(key or b""), list) and tuple(map(type, parts)) == compound[topic.key]:
            return tuple(parts)
    except ValueError:  # also orjson's error and UnicodeDecodeError
        pass
    raise BadRecord("invalid", f"a tombstone whose key is not {topic.key.value}")


def _redacted(event: Model, privacy: Privacy) -> Model:
    """Return the event without personal data in its free text."""
    kept: dict[str, object] = {}
    match event:
        case Item(item=item) | Interaction(item=item) | Feedback(item=item):
            title = privacy.redact_work(item.title, 500).text
            description = privacy.redact_work(item.description, 4_000).text
            kept["item"] = item.model_copy(update={"title": title, "description": description})
        case RankRequest() | Ranking() | Contrast() | Abstention():
            if isinstance(event, Ranking) and event.injected != _NOTHING:
                kept["injected"] = privacy.injected(event.injected, event.domain)
            if isinstance(event, Contrast) and event.facets:
                kept["facets"] = privacy.facets(event.facets, event.domain)
            if event.instruction:
                forgets = privacy.opt_out(event.instruction) is OptOut.NOT_REMEMBERED
                kept["instruction"] = "" if forgets else privacy.redact(event.instruction, event.domain).text
        case Correction(text=text) if text and privacy.opt_out(text) is OptOut.NOT_REMEMBERED:
            # Keep only the fact that there was a correction.
            kept = {"text": "", "acceptable": ()}
        case Correction():
            kept["text"] = privacy.redact_about_person(event.text, event.domain, 2_000).text
        case SkillCommand():
            kept = _of_command(event, privacy)
    return event.model_copy(update=kept) if kept else event


def _of_command(event: SkillCommand, privacy: Privacy) -> dict[str, object]:
    # A refused value is replaced by its kind: it must not outlive the refusal in DuckDB.
    kept: dict[str, object] = {"reason": privacy.redact(event.reason, event.domain, 300).text}
    name, line = event.attribute_id or "", event.line
    # A withheld value stays: the name of its kind may itself be refused.
    if name and not name.startswith(_WITHHELD) and (kind := privacy.refuses_id(event.domain, name)) is not None:
        kept["attribute_id"] = _WITHHELD + kind
    if event.value is not None and not event.value.startswith(_WITHHELD):
        dimension = [*name.split(":"), ""][1]
        if (kind := privacy.refuses(event.domain, dimension, event.value)) is not None:
            kept["value"] = _WITHHELD + kind
    if line is not None and (kind := privacy.refuses(event.domain, line.dimension, line.value)) is not None:
        kept["line"] = line.model_copy(update={"dimension": "private", "value": _WITHHELD + kind})
    return kept
