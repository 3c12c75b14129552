"""Compares a DuckDB snapshot with the topics: versions, skills, slim skills and cards by fingerprint, events by id.

Other columns are not compared: a snapshot in doubt is made again from the topics.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

import duckdb
import orjson
from confluent_kafka import OFFSET_BEGINNING, TopicPartition
from pydantic_core import to_json

from operators.findings import Kind
from schemas import (
    BadRecord,
    Card,
    CardDiff,
    Event,
    PolicySkill,
    Receipt,
    SkillDiff,
    SlimSkill,
    decode,
    moment_of,
    subject_of,
)
from streams.kafka.packed import unpack
from streams.kafka.scanner import Scanner, int_of, sent_at_ms
from streams.materializer.schema import quoted
from streams.rights.sealed_topics import Finding, Fingerprint, Partition
from streams.settings import Settings

SEALED: dict[type[Event], tuple[str, str]] = {
    SkillDiff: ("user_id, domain, version", "document"),
    PolicySkill: ("user_id, domain", "document"),
    SlimSkill: ("user_id, domain", "text || coalesce(seal, '')"),
    CardDiff: ("user_id, version", "document"),
    Card: ("user_id", "document"),
}
"""The key and the fingerprinted text of the tables of sealed records."""
EVENTS = (
    *("interactions", "rank-requests", "rankings", "selections", "feedback", "corrections", "abstentions"),
    *("contrasts", "skill-commands"),
)
"""The topics whose rows are events of users, with the same key in DuckDB."""
USED_VERSIONS = {
    "contrasts": "skill_version",
    "rankings": "skill_version",
    "abstentions": "skill_version",
}
"""Columns with the version of a skill that an event was made with."""
_ROWS = 2_000

Report = Callable[[Finding, datetime | None], None]
"""Receives a finding. A receipt that covers the moment (in UTC) excuses it; None: no receipt does."""


class SnapshotCheck:
    """The comparison of one snapshot; it counts `rows`, those that have `expired`, and records that it lags `behind`.

    Args:
        settings: the deployment.
        con: a connection of `read.connect_own`.
        scanner: of the deployment's topics.
        report: receives findings.
        user: only this user; None: all.
        domain: only this domain; None: all.
    """

    def __init__(
        self,
        settings: Settings,
        con: duckdb.DuckDBPyConnection,
        scanner: Scanner,
        report: Report,
        user: str | None,
        domain: str | None,
    ) -> None:
        self.rows = self.expired = self.behind = 0
        self._settings, self._con, self._scanner, self._report = settings, con, scanner, report
        self._user, self._domain = user, domain
        self._event_partitions = {base: len(scanner.partitions(base)) for base in EVENTS}
        offsets = self._select("SELECT topic, kafka_partition, next_offset FROM sink_offsets")
        self._next_offsets = {(topic, number): after for topic, number, after in offsets}
        self._receipts: dict[str, Receipt] = {}
        for subject, document in self._select("SELECT subject, document FROM receipts"):
            with suppress(BadRecord):
                self._receipts[subject] = decode(Receipt, document.encode())

    def compare(self, number: int, partition: Partition, count: int) -> None:
        """Compare one partition number of all topics.

        Args:
            number: the partition.
            partition: its sealed records.
            count: the number of partitions.
        """
        for model in SEALED:
            self._guarded(model.TOPIC, partial(self._compare_sealed, model, number, partition, count))
        for base in EVENTS:
            self._guarded(base, partial(self._compare_events, base, number))

    def _guarded(self, base: str, check: Callable[[], None]) -> None:
        try:
            check()
        except duckdb.Error as error:
            what = f"the table {_table(base)} in DuckDB cannot be read: {error}"
            self._report(Finding(Kind.UNREADABLE, "", "", what), None)

    def used_versions(self, number: int) -> Iterator[tuple[str, str, int, datetime]]:
        """Yield each user and domain with the newest version that an event of theirs used, and when."""
        for table, column in USED_VERSIONS.items():
            query = (
                f"SELECT user_id, domain, max({column}), arg_max(occurred_at, {column}) FROM {table} "  # noqa: S608 - our own names; values are bound  # nosec B608
                f"WHERE kafka_partition = $1 AND {column} > 0 AND {self._selected()} GROUP BY ALL"
            )
            for user, domain, version, moment in self._select(query, [number]):
                yield user, domain, version, moment.replace(tzinfo=UTC)

    def _compare_sealed(self, model: type[Event], number: int, partition: Partition, count: int) -> None:
        key, text = SEALED[model]
        table, records = _table(model.TOPIC), partition.fingerprints[model]
        next_offset = self._next_offsets.get((self._settings.topic(model.TOPIC), number), 0)
        self.behind += sum(record.offset >= next_offset for record in records.values())
        seen = set[bytes]()
        for names, row in self._stored(table, key, f"sha256({text})", number, count):
            kafka_key = names[0].encode() if model is Card else to_json(names)
            seen.add(kafka_key)
            record = records.get(kafka_key, Fingerprint(-1))
            if record.offset >= next_offset or row[-1] in record.digests:
                continue  # the snapshot has not read the newest record yet, or has it as it is
            if record.digests:
                what = f"the row of {table} with {names} in DuckDB differs from its record"
                self._report(Finding(Kind.ROW_EDITED, names[0], row[0], what), None)
            else:
                self._without_record(model.TOPIC, names, row)
        for kafka_key, record in records.items():
            if record.digests and record.offset < next_offset and kafka_key not in seen:
                what = f"the row of {table} for {kafka_key.decode()} is missing in DuckDB"
                self._report(Finding(Kind.ROW_MISSING, record.user_id, record.domain, what), record.occurred_at)

    def _compare_events(self, base: str, number: int) -> None:
        """Report rows of events that have no record. An event may lack a row: the materializer refuses some."""
        count = self._event_partitions[base]
        if number >= count:
            return
        where = TopicPartition(self._settings.topic(base), number, OFFSET_BEGINNING)
        next_offset = self._next_offsets.get((where.topic, number), 0)
        records, first = set[tuple[str, str]](), None
        for message in self._scanner.read([where]):
            offset = int_of(message.offset())
            first = first or (offset, moment_of(sent_at_ms(message)).replace(tzinfo=None))
            self.behind += offset >= next_offset
            with suppress(ValueError, TypeError, KeyError):  # a dead letter of the materializer
                event = orjson.loads(unpack(message.value() or b""))
                records.add((event["user_id"], event["event_id"]))
        for names, row in self._stored(_table(base), "user_id, event_id", "''", number, count):
            if tuple(names) in records:
                continue
            _, partition, offset, logged_at, *_ = row
            is_old = first is None or offset is None or offset < first[0] or (logged_at and logged_at < first[1])
            if partition == number and is_old:
                self.expired += 1  # Kafka has deleted the record by its retention
            else:
                self._without_record(base, names, row)

    def _stored(
        self, table: str, key: str, text: str, number: int, count: int
    ) -> Iterator[tuple[list[Any], tuple[Any, ...]]]:
        """Yield the key of each row, then domain, partition, offset, time in Kafka, time of the event and text."""
        columns = {column for (column, *_) in self._select(f"DESCRIBE {table}")}
        domain = "domain" if "domain" in columns else "''"
        happened_at = "occurred_at" if "occurred_at" in columns else "updated_at"
        # The first partition answers for rows of partitions that do not exist: it does not have them either.
        strays = "$1 = 0 AND (kafka_partition IS NULL OR kafka_partition NOT BETWEEN 0 AND $2 - 1)"
        query = (
            f"SELECT {key}, {domain}, kafka_partition, kafka_offset, logged_at, least({happened_at}, logged_at), "  # noqa: S608 - our own names; values are bound  # nosec B608
            f"{text} FROM {table} WHERE (kafka_partition = $1 OR {strays}) AND {self._selected('domain' in columns)}"
        )
        width = key.count(",") + 1
        for values in self._select(query, [number, count]):
            self.rows += 1
            yield list(values[:width]), values[width:]

    def _without_record(self, base: str, names: list[Any], row: tuple[Any, ...]) -> None:
        domain, moment = row[0], row[4]
        moment = moment and moment.replace(tzinfo=UTC)
        receipt = self._receipts.get(subject_of(names[0]))
        if moment and receipt is not None and receipt.covers(domain or None, moment):
            moment = None  # DuckDB has read the receipt, and must not have the row any more
        what = f"the row of {_table(base)} with {names} in DuckDB has no record on {base}"
        self._report(Finding(Kind.ROW_WITHOUT_RECORD, names[0], domain, what), moment)

    def _selected(self, has_domain: bool = True) -> str:
        user = "true" if self._user is None else f"user_id = {quoted(self._user)}"
        return user if self._domain is None or not has_domain else f"{user} AND domain = {quoted(self._domain)}"

    def _select(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        result = self._con.cursor()
        result.execute("USE snapshot")
        result.execute(query, list(values))
        while found := result.fetchmany(_ROWS):
            yield from found


def _table(base: str) -> str:
    return base.replace("-", "_")
