"""Compaction of the journal: it keeps what Kafka would keep, without the records that a receipt covers."""

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from schemas import BadRecord, Receipt, Topic, decode, moment_of
from schemas.topics import WORKED_OFF, by_name
from streams.kafka.packed import unpack
from streams.local.batches import Record, built
from streams.local.journal import Log, Segment, read
from streams.local.wire import Partition
from streams.settings import Settings

_Covers = Callable[[Topic, Record], bool]


@dataclass(frozen=True)
class Compacted:
    """A log of which something has been left out.

    Attributes:
        log: the rest.
        waiting: how many records of forgotten people are still to be done by a worker, and go next time.
    """

    log: Log
    waiting: int


def compacted(log: Log, settings: Settings, now: datetime | None = None) -> Compacted:
    """The log without what topics no longer keep: older values of a key, old events, and forgotten people.

    An event that no worker has finished is kept in any case. What internal topics hold is not kept longer than that.
    """
    covers, waiting = _covered_by_receipts(log, settings), 0
    rest = Log(commits=dict(log.commits), ends=dict(log.ends))
    now_ms = (now or datetime.now(UTC)).timestamp() * 1_000
    for partition, held in log.records.items():
        topic = by_name(partition[0], settings.prefix)
        if topic.compact:
            kept = list(_newest(held))
        else:
            done = log.commits.get(partition, 0) if topic.base in WORKED_OFF else log.ends[partition]
            oldest_ms = 0.0 if topic.retention is None else now_ms - topic.retention.total_seconds() * 1_000
            kept = []
            for record in held:
                gone = covers(topic, record)
                if record.offset >= done:
                    waiting += gone
                    kept.append(record)
                elif not (gone or topic.internal or record.timestamp_ms < oldest_ms):
                    kept.append(record)
            if len(kept) == 1 and kept[0].offset >= done and len(held) > 1 and not covers(topic, held[-2]):
                # It stays at its offset then, by which a worker knows whether it has done it, see `placed`.
                kept = held[-2:]
        if kept:
            rest.records[partition] = kept
    return Compacted(rest, waiting)


def compact(settings: Settings, closed: Path) -> int:
    """Put all segments up to this one together; the number of covered records that a worker has still to do.

    It runs while newer segments grow: the result takes the place behind the closed one.
    """
    log = read(settings, until=closed)
    if log is None:
        return 0
    done = compacted(log, settings)
    made = Segment(settings, complete=True, path=closed.with_stem(f"{int(closed.stem) + 1:08d}"))
    for partition, held in done.log.records.items():
        for batch in built(held, contiguous=False):
            made.batch(partition, batch)
    made.commits(done.log.commits)
    made.finish()
    return done.waiting


def _newest(held: list[Record]) -> Iterator[Record]:
    last = {record.key: record.offset for record in held}
    return (record for record in held if record.value is not None and last[record.key] == record.offset)


def _covered_by_receipts(log: Log, settings: Settings) -> _Covers:
    found = {
        record.key: record.value
        for partition, held in log.records.items()
        if partition[0] == settings.topic(Receipt.TOPIC)
        for record in held
        if record.value is not None
    }
    if not found:
        return lambda topic, record: False
    # Imported here: it brings DuckDB, and most journals have no receipt.
    from streams.materializer.forgetting import Barrier  # noqa: PLC0415

    barrier = Barrier(secret=settings.event_key_bytes)
    for value in found.values():
        with suppress(BadRecord):  # anything may be on the topic; what is no receipt covers nothing
            barrier.add(decode(Receipt, value))

    def covers(topic: Topic, record: Record) -> bool:
        try:
            event = decode(topic.model, unpack(record.value or b""))
        except BadRecord:
            # Nobody can tell whose it is. Where a stage stumbled over it, a dead letter holds it.
            return True
        try:
            return barrier.covers(event, moment_of(record.timestamp_ms) if record.timestamp_ms > 0 else None)
        except BadRecord:  # from the future, and of nobody who was forgotten
            return False

    return covers


def placed(log: Log) -> tuple[Log, Callable[[Partition, int], int]]:
    """The log at the offsets at which it can be put back, and where an offset from before stands there.

    All keep their offsets but a partition's only record, which a broker can only be given at offset 0. Where the
    last records are gone, the partition ends earlier, and a position behind its end moves there.
    """
    moved = {
        partition: [held[0]._replace(offset=0)] if len(held) == 1 else held for partition, held in log.records.items()
    }
    before = {partition: held[0].offset for partition, held in log.records.items() if len(held) == 1}
    ends = {partition: held[-1].offset + 1 for partition, held in moved.items()}

    def place(partition: Partition, position: int) -> int:
        if partition in before:
            return int(position > before[partition])
        return min(position, ends.get(partition, 0))

    commits = {partition: place(partition, at) for partition, at in log.commits.items()}
    return Log(moved, commits, ends), place


if __name__ == "__main__":
    raise SystemExit(bool(compact(Settings(), Path(sys.argv[1]))))
