"""Compares every table of the DuckDB snapshot with what the materializer makes of the topics, row by row.

The rows are made by the materializer's own code, of the records up to where the snapshot says that it has read them.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import duckdb
from confluent_kafka import OFFSET_BEGINNING, TIMESTAMP_NOT_AVAILABLE, Message, TopicPartition

from operators.findings import Kind
from schemas import BadRecord, Receipt, Topic, decode, subject_of
from streams.kafka.scanner import NoSuchTopic, Scanner
from streams.materializer import rows
from streams.materializer.columns import Keep, Table
from streams.materializer.forgetting import Barrier
from streams.materializer.records import Batch, Put, Record, RowKey, from_ms
from streams.materializer.rows import PUBLIC_TOPICS
from streams.materializer.scratch import Scratch
from streams.privacy import privacy_of
from streams.pseudonyms import ranking_key_if_any
from streams.rights.verify.findings import Finding, Verified
from streams.settings import Settings

_BATCH = 2_000
_PART_ROWS = 200_000
_PROVENANCE = frozenset({"kafka_offset", "logged_at"})
_FILTERED = {
    "items": frozenset({"title", "description"}),
    "interactions": frozenset({"title"}),
    "rank_requests": frozenset({"instruction"}),
    "rankings": frozenset({"instruction", "slim_skill", "facets", "injected", "honoured", "question"}),
    "feedback": frozenset({"title"}),
    "corrections": frozenset({"text"}),
    "abstentions": frozenset({"instruction"}),
    "contrasts": frozenset({"instruction", "chosen_title"}),
    "skill_commands": frozenset({"attribute_id", "value", "reason"}),
}
"""Columns with words of apps and people, which the privacy filter withholds. What is sealed is never filtered."""
_MAY_BE_GONE = frozenset({"items"})
"""Compacted topics that only apps write: one that was recreated does not have all of it."""

BEHIND_SECONDS = 3_600.0
"""A snapshot that has not read a record after this time is held back, or the materializer does not run."""

Pend = Callable[[Finding, datetime | None], None]
"""Receives a finding that a receipt excuses if it covers this moment (in UTC)."""


@dataclass
class _Read:
    """What was read of one partition number.

    Attributes:
        first: the first offset and Kafka time of each topic that Kafka still has.
        ends: the first offset after the last record of each topic.
        ahead: by table, the keys of records that the snapshot has not read yet.
        lost: by table, the keys of rows whose records the log has lost.
    """

    first: dict[str, tuple[int, datetime]] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    ahead: defaultdict[str, set[RowKey]] = field(default_factory=lambda: defaultdict(set))
    lost: defaultdict[str, set[RowKey]] = field(default_factory=lambda: defaultdict(set))


class Tables:
    """The comparison of one snapshot.

    Args:
        settings: the deployment; the privacy filter has to be the materializer's.
        scanner: of its topics.
        receipts: those that count: what they cover is in no row.
        done: receives findings and counts.
        pend: receives findings that a newer receipt may excuse.
        user: only this one; None: all.
        domain: only this one; None: all.

    Raises:
        MaterializerError, duckdb.Error: the snapshot cannot be read.
    """

    def __init__(
        self,
        settings: Settings,
        scanner: Scanner,
        receipts: list[Receipt],
        done: Verified,
        pend: Pend,
        user: str | None,
        domain: str | None,
    ) -> None:
        self._scratch = Scratch(settings.duckdb_file, settings.prefix)
        self._settings, self._scanner, self._done, self._pend = settings, scanner, done, pend
        self._user, self._domain = user, domain
        self._privacy = privacy_of(settings)
        self._barrier = Barrier((receipt.model_dump_json() for receipt in receipts), settings.event_key_bytes)
        self._ranking_key = ranking_key_if_any(settings)
        self._applied: dict[str, Receipt] = {}
        self._unusable: set[str] = set()
        self._topics: dict[str, Topic] = {}
        self._partitions: dict[str, set[int]] = {}
        self._next: dict[tuple[str, int], int] = {}
        self._furthest: dict[tuple[str, int], int] = {}
        self._late = 0

    def close(self) -> None:
        """Ends the connection."""
        self._scratch.close()

    def begin(self) -> bool:
        """Looks at the layout and at what the snapshot has read; false if its tables cannot be compared."""
        if not self._scratch.is_of_this_release:
            self._note(Kind.LAYOUT_DIFFERS, f"the snapshot has layout {self._scratch.layout}, of another release")
            return False
        for kind, name in self._scratch.differing():
            self._note(Kind.LAYOUT_DIFFERS, f"the {kind} {name} in DuckDB is not as this release makes it")
            self._unusable.add(name)
        for topic in PUBLIC_TOPICS:
            try:
                found = self._scanner.partitions(topic.base)
            except NoSuchTopic:
                continue
            self._topics[self._settings.topic(topic.base)] = topic
            self._partitions[topic.base] = {each.partition for each in found}
        if "sink_offsets" not in self._unusable:
            query = "SELECT topic, kafka_partition, next_offset, furthest FROM snapshot.main.sink_offsets"
            for name, partition, offset, furthest in self._scratch.rows(query):
                self._next[name, partition], self._furthest[name, partition] = offset, furthest
        if "receipts" not in self._unusable:
            for subject, document in self._scratch.rows("SELECT subject, document FROM snapshot.main.receipts"):
                try:
                    self._applied[subject] = decode(Receipt, document.encode())
                except (BadRecord, AttributeError) as error:
                    self._note(Kind.UNREADABLE, f"the receipt of {str(subject)[:12]} in DuckDB: {error}")
        return True

    @property
    def numbers(self) -> range:
        """The numbers of all partitions that any topic has."""
        return range(max((number for found in self._partitions.values() for number in found), default=-1) + 1)

    def compare(self, number: int) -> None:
        """Compares the rows of one partition number of all topics."""
        self._scratch.clear()
        found = self._read(number)
        for name, topic in self._topics.items():
            table = rows.table_of(topic)
            if table.name in self._unusable or (self._user is not None and "user_id" not in table.names):
                continue
            try:
                self._compare(name, topic, table, number, found)
            except duckdb.Error as error:
                self._note(Kind.UNREADABLE, f"the table {table.name} in DuckDB cannot be read: {error}")

    def finish(self) -> None:
        """Compares what belongs to no partition: rows of partitions that there are not, lost children, derived rows."""
        if self._late:
            what = (
                f"the snapshot has not read {self._late:,} records older than {BEHIND_SECONDS / 3_600:g} h: what they "
                "changed is not compared. Does `sager materialize` run?"
            )
            self._note(Kind.SNAPSHOT_BEHIND, what)
        for topic in self._topics.values():
            table = rows.table_of(topic)
            if self._user is not None and "user_id" not in table.names:
                continue
            for each in (table, *table.children):
                if each.name not in self._unusable and table.name not in self._unusable:
                    self._strays(topic, table, each)
        if not self._unusable & {"skill_diffs", "skill_changes", "rankings", "selections"}:
            self._derived()

    def traces(self, number: int, committed: int) -> Iterator[tuple[str, str, int, datetime]]:
        """Of whom rows tell that they have, or had, a skill: user, domain, its version at least, and when.

        Args:
            number: the partition.
            committed: up to which offset workers have worked off the contrasts.
        """
        letters = (
            "SELECT source_offset FROM snapshot.main.dead_letters WHERE source_partition = $1 AND source_topic = $2"
        )
        done = f"kafka_offset < {int(committed)} AND kafka_offset NOT IN ({letters})"
        asked = {
            "contrasts": f"greatest(skill_version, ({done})::BIGINT)",
            "rankings": "skill_version",
            "abstentions": "skill_version",
        }
        for table, version in asked.items():
            if self._unusable & {table, "dead_letters"}:
                continue
            query = (
                f"SELECT user_id, domain, max({version}) AS version, arg_max(occurred_at, {version}) "  # noqa: S608 - our own names; values are bound  # nosec B608
                f"FROM snapshot.main.{table} WHERE kafka_partition = $1 AND {self._whose(None)} "
                "GROUP BY ALL HAVING version > 0"
            )
            values = [number, self._settings.topic("contrasts")] if table == "contrasts" else [number]
            for user, domain, at_least, moment in self._scratch.rows(query, values):
                yield user, domain, at_least, moment.replace(tzinfo=UTC)

    def _read(self, number: int) -> _Read:
        """Makes the rows of the records of one partition number."""
        found, batch, count = _Read(), Batch(), 0
        names = [name for name, topic in self._topics.items() if number in self._partitions[topic.base]]
        for message in self._scanner.read([TopicPartition(name, number, OFFSET_BEGINNING) for name in names]):
            record = self._record(message)
            name = str(message.topic())
            found.first.setdefault(name, (record.offset, from_ms(record.timestamp_ms)))
            found.ends[name] = record.offset + 1
            is_ahead = record.offset >= self._next.get((name, number), 0)
            self._done.behind += is_ahead
            self._late += is_ahead and record.timestamp_ms < 1_000 * (time.time() - BEHIND_SECONDS)
            try:
                change = rows.read(record, self._privacy, self._barrier, self._ranking_key)
            except (BadRecord, ValueError):
                continue  # the materializer puts it away as a dead letter; what is sealed is reported elsewhere
            if change is None or not self._is_meant(change):
                continue
            if is_ahead:
                if record.topic.compact:
                    found.ahead[change.table.name].add(change.key)
                continue
            batch.add(change)
            count += 1
            if count % _BATCH == 0:
                self._scratch.write(batch, {})
                batch = Batch()
        self._scratch.write(batch, {})
        return found

    def _record(self, message: Message) -> Record:
        kind, timestamp_ms = message.timestamp()
        return Record(
            topic=self._topics[str(message.topic())],
            partition=int(message.partition() or 0),
            offset=int(message.offset() or 0),
            timestamp_ms=0 if kind == TIMESTAMP_NOT_AVAILABLE else max(0, timestamp_ms),
            key=message.key(),
            value=message.value(),
        )

    def _is_meant(self, change: Any) -> bool:
        """Whether a change is of the user and domain that are asked for."""
        if self._user is None:
            return True
        names = change.table.key
        known = change.row if isinstance(change, Put) else dict(zip(names, change.key, strict=True))
        return known.get("user_id") == self._user and self._domain in (None, known.get("domain", self._domain))

    def _whose(self, alias: str | None) -> str:
        """The condition for rows that are asked for."""
        if self._user is None:
            return "true"
        start = f"{alias}." if alias else ""
        whose = f"{start}user_id = {_text(self._user)}"
        return whose if self._domain is None else f"{whose} AND {start}domain = {_text(self._domain)}"

    def _compare(self, name: str, topic: Topic, table: Table, number: int, found: _Read) -> None:
        names = ", ".join(f'"{each}"' for each in table.names)
        whose = self._whose(None) if "domain" in table.names else self._whose_user()
        theirs = f"SELECT {names} FROM snapshot.main.{table.name} WHERE kafka_partition = {number} AND {whose}"  # noqa: S608 - our own names; values are bound  # nosec B608
        [(count,)] = self._scratch.rows(f"SELECT count(*) FROM ({theirs})")  # noqa: S608 - our own names; values are bound  # nosec B608
        self._done.copies = (self._done.copies or 0) + count
        same = " AND ".join(f"made.{each} = odd.{each}" for each in table.key)
        odd = (
            f"WITH odd AS ({theirs} EXCEPT ALL SELECT {names} FROM live.{table.name}) "  # noqa: S608 - our own names; values are bound  # nosec B608
            f"SELECT odd.*, made.* FROM odd LEFT JOIN live.{table.name} made ON {same}"
        )
        width = len(table.names)
        for values in self._scratch.rows(odd):
            row = dict(zip(table.names, values[:width], strict=True))
            made = dict(zip(table.names, values[width:], strict=True))
            if self._key(table, row) in found.ahead[table.name]:
                continue
            if made[table.key[0]] is None:
                self._without_record(name, topic, table, row, found)
            else:
                self._edited(name, topic, table, row, made, found)
        query = (
            f"SELECT {names} FROM live.{table.name} made "  # noqa: S608 - our own names; values are bound  # nosec B608
            f"ANTI JOIN snapshot.main.{table.name} USING ({', '.join(table.key)})"
        )
        for values in self._scratch.rows(query):
            row = dict(zip(table.names, values, strict=True))
            if self._key(table, row) not in found.ahead[table.name]:
                what = f"{_place(table, row)} is missing in DuckDB"
                self._pend_row(Kind.ROW_MISSING, row, what, moment=_moment(row))
        for child in table.children:
            if child.name not in self._unusable:
                self._children(table, child, number, found)

    def _whose_user(self) -> str:
        return "true" if self._user is None else f"user_id = {_text(self._user)}"

    def _key(self, table: Table, row: dict[str, Any]) -> RowKey:
        return tuple(row[each] for each in table.key)

    def _without_record(self, name: str, topic: Topic, table: Table, row: dict[str, Any], found: _Read) -> None:
        """A row of which there is no record: expired, forgotten meanwhile, or forged."""
        offset, logged_at = row["kafka_offset"], row["logged_at"]
        first = found.first.get(name)
        expires = not topic.compact or topic.base in _MAY_BE_GONE
        if expires and (first is None or offset is None or offset < first[0] or (logged_at and logged_at < first[1])):
            self._done.expired += 1
            return
        moment = _moment(row)
        applied = self._applied.get(_subject(row))
        if applied is not None and moment is not None and applied.covers(row.get("domain"), moment):
            moment = None  # DuckDB has the receipt, and should not have the row any more
        if self._is_lost(name, table, row, found):
            self._lost(topic, table, row, moment, found)
            return
        self._pend_row(Kind.ROW_FORGED, row, f"{_place(table, row)} in DuckDB has no record on {topic.base}", moment)

    def _is_lost(self, name: str, table: Table, row: dict[str, Any], found: _Read) -> bool:
        """True if the log has lost the row's record: it ends before that offset, or has a later record there."""
        number, offset = row["kafka_partition"], row["kafka_offset"]
        if offset is None or offset >= self._furthest.get((name, number), 0):
            return False  # the materializer never read this offset
        if offset >= found.ends.get(name, 0):
            return True
        query = f"SELECT logged_at FROM live.{table.name} WHERE kafka_partition = $1 AND kafka_offset = $2"  # noqa: S608 - our own names; values are bound  # nosec B608
        written_since = [logged_at for (logged_at,) in self._scratch.rows(query, [number, offset])]
        return any(row["logged_at"] and logged_at and row["logged_at"] < logged_at for logged_at in written_since)

    def _lost(self, topic: Topic, table: Table, row: dict[str, Any], moment: datetime | None, found: _Read) -> None:
        found.lost[table.name].add(self._key(table, row))
        place = f"offset {row['kafka_offset']:,} of {topic.base}[{row['kafka_partition']}]"
        what = f"{_place(table, row)} in DuckDB was read at {place}, and the log has lost that record since"
        self._pend_row(Kind.ROW_LOST, row, what, moment)

    def _edited(
        self, name: str, topic: Topic, table: Table, row: dict[str, Any], made: dict[str, Any], found: _Read
    ) -> None:
        differing = {each for each in table.names if row[each] != made[each]}
        said = differing - _PROVENANCE
        is_lost = row["kafka_offset"] != made["kafka_offset"] and self._is_lost(name, table, row, found)
        # If a record was lost and sent again, its row differs in offset and time alone.
        if (
            "logged_at" in differing
            and not is_lost
            and not _is_earlier_copy(topic, table, row, made, found.first[name])
        ):
            said.add("logged_at")
        if not said:
            return
        if is_lost:
            self._lost(topic, table, row, _moment(row), found)
            return
        columns = f"{_place(table, row)} in DuckDB differs from its record in {', '.join(sorted(said))}"
        if said <= _FILTERED.get(table.name, frozenset()):
            if any(not _is_withheld(row[each]) for each in said):
                self._pend_row(Kind.ROW_FILTERED, row, columns)
        else:
            self._pend_row(Kind.ROW_EDITED, row, columns)

    def _children(self, table: Table, child: Table, number: int, found: _Read) -> None:
        names, key = ", ".join(f'"{each}"' for each in child.names), ", ".join(table.key)
        common = (
            f"SELECT {key} FROM live.{table.name} SEMI JOIN "  # noqa: S608 - our own names; values are bound  # nosec B608
            f"(FROM snapshot.main.{table.name} WHERE kafka_partition = {number}) USING ({key})"
        )
        theirs = f"SELECT {names} FROM snapshot.main.{child.name} SEMI JOIN ({common}) USING ({key})"  # noqa: S608 - our own names; values are bound  # nosec B608
        ours = f"SELECT {names} FROM live.{child.name} SEMI JOIN ({common}) USING ({key})"  # noqa: S608 - our own names; values are bound  # nosec B608
        query = (
            f"SELECT DISTINCT {key} FROM (({theirs} EXCEPT ALL {ours}) UNION ALL ({ours} EXCEPT ALL {theirs})) "  # noqa: S608 - our own names; values are bound  # nosec B608
            "ORDER BY ALL"
        )
        for values in self._scratch.rows(query):
            row = dict(zip(table.key, values, strict=True))
            if values not in found.ahead[table.name] | found.lost[table.name]:
                what = f"the rows of {child.name} in DuckDB for {_named(table, row)} are not those of its record"
                self._pend_row(Kind.ROW_EDITED, row, what)

    def _strays(self, topic: Topic, table: Table, each: Table) -> None:
        """Rows of partitions that there are not, and rows of a child table without their parent."""
        if each is table:
            known = ", ".join(map(str, sorted(self._partitions[topic.base]))) or "-1"
            where = f"(kafka_partition IS NULL OR kafka_partition NOT IN ({known}))"
            query = f"SELECT * FROM snapshot.main.{table.name} WHERE {where} AND {self._whose_user()}"  # noqa: S608 - our own names; values are bound  # nosec B608
            what = f"in DuckDB is of a partition that {topic.base} does not have"
        else:
            key = ", ".join(table.key)
            query = (
                f"SELECT * FROM snapshot.main.{each.name} ANTI JOIN snapshot.main.{table.name} USING ({key}) "  # noqa: S608 - our own names; values are bound  # nosec B608
                f"WHERE {self._whose_user()}"
            )
            what = f"in DuckDB has no row in {table.name}"
        try:
            for values in self._scratch.rows(query):
                row = dict(zip(each.names, values, strict=True))
                self._pend_row(Kind.ROW_FORGED, row, f"{_place(each, row)} {what}")
        except duckdb.Error as error:
            self._note(Kind.UNREADABLE, f"the table {each.name} in DuckDB cannot be read: {error}")

    def _derived(self) -> None:
        """What is derived from other tables is derived again, from the snapshot's own rows."""
        try:
            [(count,)] = self._scratch.rows(
                "SELECT (SELECT count(*) FROM snapshot.main.skill_changes) + "
                "(SELECT count(*) FROM snapshot.main.rankings)"
            )
            parts = count // _PART_ROWS + 1
            for part in range(parts):
                self._scratch.derive_part(part, parts)
                for table, user, domain in self._scratch.derived_differences(part, parts):
                    if self._user in (None, user) and self._domain in (None, domain):
                        what = f"{table} in DuckDB is not what follows from the tables that it is derived from"
                        self._done.note(Finding(Kind.DERIVED_DIFFERS, user, domain, what))
        except duckdb.Error as error:
            self._note(Kind.UNREADABLE, f"the derived tables in DuckDB cannot be read: {error}")

    def _pend_row(self, kind: Kind, row: dict[str, Any], what: str, moment: datetime | None = None) -> None:
        finding = Finding(kind, str(row.get("user_id") or ""), str(row.get("domain") or ""), what)
        self._pend(finding, moment)

    def _note(self, kind: Kind, what: str) -> None:
        self._done.note(Finding(kind, "", "", what))


def _is_earlier_copy(
    topic: Topic, table: Table, row: dict[str, Any], made: dict[str, Any], first: tuple[int, datetime]
) -> bool:
    """Whether the row may be of a first copy of the record, which Kafka does not have any more."""
    if table.keep is not Keep.FIRST or row["logged_at"] is None or not row["logged_at"] < made["logged_at"]:
        return False
    return row["kafka_offset"] < first[0] or row["logged_at"] < first[1] or topic.compact


def _is_withheld(value: Any) -> bool:
    return value in (None, "", []) or (isinstance(value, str) and value.startswith("private:"))


def _moment(row: dict[str, Any]) -> datetime | None:
    """When it happened or was logged, whichever is earlier, in UTC."""
    told = [row.get(each) for each in ("occurred_at", "updated_at", "logged_at")]
    known = [each.replace(tzinfo=UTC) for each in told if isinstance(each, datetime) and each.year > 1970]  # noqa: PLR2004
    return min(known, default=None)


def _subject(row: dict[str, Any]) -> str:
    return subject_of(str(row.get("user_id") or ""))


def _named(table: Table, row: dict[str, Any]) -> str:
    return ", ".join(f"{each} {row[each]!r}" for each in table.key if each not in ("user_id", "domain")) or "its key"


def _place(table: Table, row: dict[str, Any]) -> str:
    return f"the row of {table.name} with {_named(table, row)}"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
