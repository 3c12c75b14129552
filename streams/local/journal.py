"""The journal: a file with every record of the embedded broker.

A frame has a length, a checksum, a line of JSON and, in most frames, a record batch with the broker's offsets. Other
frames have the committed offsets of the workers' group. Compaction writes a new file, which then replaces this one.
"""

import fcntl
import json
import logging
import os
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

from schemas import CONSUMED_TOPICS, TOPICS, BadRecord, Receipt, Topic, by_name, decode, moment_of
from streams.exceptions import StreamsError
from streams.local.batches import BatchRecord, bounds, build_batches, records
from streams.local.broker import Partition
from streams.settings import Settings

LOCK_SECONDS = 60.0
# Exit code of a compaction that had to keep records of erased people, because the workers have yet to process them.
ERASURES_PENDING = 3
_FRAME = struct.Struct(">II")

logger = logging.getLogger("sager.journal")


class JournalUnusable(StreamsError, RuntimeError):
    """The journal is another deployment's, in use, or unwritable."""


@dataclass
class JournalContents:
    """Records by offset, the workers' commits, and partitions' end offsets."""

    records: dict[Partition, list[BatchRecord]] = field(default_factory=dict)
    commits: dict[Partition, int] = field(default_factory=dict)
    # Not derived from the records: compaction may have removed a partition's last one.
    ends: dict[Partition, int] = field(default_factory=dict)

    def batches(self) -> Iterator[tuple[Partition, bytes]]:
        """Yield batches that span each partition's offsets from 0 to its end."""
        for partition, end in self.ends.items():
            for batch in build_batches(self.records.get(partition, []), end):
                yield partition, batch


def path_of(settings: Settings) -> Path:
    """Return the path of the journal's file."""
    return settings.data_dir / "journal" / "log"


def partitions_of(settings: Settings) -> list[Partition]:
    """Return all partitions of the deployment."""
    return [
        (topic.name(settings.prefix), number)
        for topic in TOPICS.values()
        for number in range(topic.partitions(settings.partitions))
    ]


def _frame(head: Mapping[str, Any], batch: bytes = b"") -> bytes:
    content = json.dumps(head).encode() + b"\n" + batch
    return _FRAME.pack(len(content), zlib.crc32(content)) + content


def _commits_frame(offsets: Mapping[Partition, int]) -> bytes:
    return _frame({"commits": [(*partition, at) for partition, at in sorted(offsets.items())]})


def frames(path: Path, size: int | None = None) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield the intact frames of a journal's first `size` bytes."""
    with path.open("rb") as file:
        while (size is None or file.tell() < size) and len(start := file.read(_FRAME.size)) == _FRAME.size:
            length, checksum = _FRAME.unpack(start)
            content = file.read(length)
            if len(content) < length or zlib.crc32(content) != checksum:
                # A crash cut it off. Its records were never acknowledged, so their producers send them again.
                logger.warning("%s is cut off at byte %s; the rest was never acknowledged", path, file.tell())
                return
            head, _, batch = content.partition(b"\n")
            yield json.loads(head), batch


def read(settings: Settings, size: int | None = None) -> JournalContents:
    """Return the contents of the journal's first `size` bytes; empty without one."""
    log, path = JournalContents(), path_of(settings)
    if not path.exists():
        return log
    for head, batch in frames(path, size):
        if "deployment" in head:
            for setting, value in _deployment(settings).items():
                if (kept := head["deployment"][setting]) != value:
                    raise JournalUnusable(
                        f"SAGER_{setting} is {value}, but the events in {path.parent} were stored with {kept}: set "
                        f"SAGER_{setting}={kept}, or choose another folder with --data-dir"
                    )
        elif "commits" in head:
            log.commits |= {(name, number): at for name, number, at in head["commits"]}
        else:
            name, number = head["batch_of"]
            log.records.setdefault((name, number), []).extend(records(batch))
            log.ends[name, number] = max(bounds(batch)[1], log.ends.get((name, number), 0))
    for rows in log.records.values():
        rows.sort(key=attrgetter("offset"))  # the broker may acknowledge two producers in another order
    return log


def _deployment(settings: Settings) -> dict[str, Any]:
    return {"PARTITIONS": settings.partitions, "PREFIX": settings.prefix, "APP_ID": settings.app_id}


def write(settings: Settings, log: JournalContents) -> Path:
    """Write a new file next to the journal, and return its path."""
    new = path_of(settings).with_suffix(".new")
    new.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new.parent.chmod(0o700)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(_frame({"deployment": _deployment(settings)}))
        for partition, batch in log.batches():
            file.write(_frame({"batch_of": partition}, batch))
        file.write(_commits_frame(log.commits))
        file.flush()
        os.fsync(file.fileno())
    return new


def install(new: Path) -> None:
    """Replace the journal by a new file."""
    new.replace(new.with_suffix(""))
    # Without an fsync of the folder, a power loss may undo the rename.
    folder = os.open(new.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class Journal:
    """The journal while a broker runs, unbuffered to survive a crash."""

    def __init__(self, settings: Settings) -> None:
        self._path = path_of(settings)
        self._open(self._path)
        self._is_synced = True

    def _open(self, path: Path) -> None:
        self._file, self.size = os.open(path, os.O_RDWR | os.O_APPEND), path.stat().st_size

    def append(self, batches: Iterable[tuple[Partition, bytes]]) -> None:
        """Append batches; each has its offsets already."""
        self._add(b"".join(_frame({"batch_of": partition}, batch) for partition, batch in batches))

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Append committed offsets of the workers' group."""
        self._add(_commits_frame(offsets))

    def sync(self) -> None:
        """Flush appended frames to the disk."""
        if not self._is_synced:
            self._is_synced = True  # first: another thread may append meanwhile
            os.fsync(self._file)

    def switch_to_compacted(self, size: int) -> None:
        """Install the compacted first `size` bytes, and append the later frames."""
        rest = os.pread(self._file, self.size - size, size)
        os.close(self._file)
        new = self._path.with_suffix(".new")
        self._open(new)
        self._add(rest)
        os.fsync(self._file)
        install(new)

    def _add(self, data: bytes) -> None:
        left = memoryview(data)
        self.size += len(left)
        self._is_synced = False
        while left:
            left = left[os.write(self._file, left) :]


def compact(log: JournalContents, settings: Settings, now: datetime | None = None) -> tuple[JournalContents, int]:
    """Drop superseded values, expired events and events of erased people.

    Offsets stay the same. Events that the workers have not processed stay. Returns the rest, and the number of erased
    people's records that wait for the workers.
    """
    is_covered, waiting = _covered_by_receipts(log, settings), 0
    rest, now_ms = JournalContents(), (now or datetime.now(UTC)).timestamp() * 1_000
    for partition, end in log.ends.items():
        topic, rows = by_name(partition[0], settings.prefix), log.records.get(partition, [])
        if topic.compact:
            newest = {record.key: record.offset for record in rows}
            kept = [each for each in rows if each.value is not None and newest[each.key] == each.offset]
            if kept:
                # Table recovery expects a changelog to end with a record.
                rest.ends[partition] = kept[-1].offset + 1
        else:
            kept, rest.ends[partition] = [], end
            processed = log.commits.get(partition, 0) if topic.base in CONSUMED_TOPICS else end
            oldest_ms = 0.0 if topic.retention is None else now_ms - topic.retention.total_seconds() * 1_000
            for record in rows:
                is_forgotten = is_covered(topic, record)
                if record.offset >= processed:
                    waiting += is_forgotten
                    kept.append(record)
                elif not (is_forgotten or topic.internal or record.timestamp_ms < oldest_ms):
                    kept.append(record)
        rest.records[partition] = kept
    rest.commits = {partition: min(at, rest.ends.get(partition, 0)) for partition, at in log.commits.items()}
    return rest, waiting


def _covered_by_receipts(log: JournalContents, settings: Settings) -> Callable[[Topic, BatchRecord], bool]:
    receipts = {
        record.key: record.value
        for partition, rows in log.records.items()
        if partition[0] == settings.topic(Receipt.TOPIC)
        for record in rows
        if record.value is not None
    }
    if not receipts:
        return lambda topic, record: False
    # Imported here: it brings DuckDB, and most journals have no receipt.
    from streams.analytics.erasure import ErasureFilter  # noqa: PLC0415

    barrier = ErasureFilter(secret=settings.event_key_bytes)
    for value in receipts.values():
        with suppress(BadRecord):  # the topic may have records of any app
            barrier.add(decode(Receipt, value))

    def is_covered(topic: Topic, record: BatchRecord) -> bool:
        try:
            event = decode(topic.model, record.value)
        except BadRecord:
            return True  # it may be about an erased person, and its dead letter keeps the bytes
        try:
            return barrier.covers(event, moment_of(record.timestamp_ms) if record.timestamp_ms > 0 else None)
        except BadRecord:  # dated in the future
            return False

    return is_covered


def lock(settings: Settings) -> int:
    """Lock the data folder, and return the lock's file descriptor.

    Processes that inherit the descriptor share the lock, until the last one closes it or ends.
    """
    folder = path_of(settings).parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file, give_up = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600), time.monotonic() + LOCK_SECONDS
    if not _try_lock(file):
        logger.warning("another `sager up` uses %s: waiting for it to end", settings.data_dir)
    while not _try_lock(file):
        if time.monotonic() > give_up:
            os.close(file)
            raise JournalUnusable(
                f"another `sager up` uses {settings.data_dir}, or is still ending: end it, or choose another folder "
                "with --data-dir"
            )
        time.sleep(0.2)
    return file


def _try_lock(file: int) -> bool:
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def main() -> None:
    """Compact the journal's first bytes to a new file, for `switch_to_compacted`."""
    os.nice(10)
    settings = Settings()
    rest, waiting = compact(read(settings, int(sys.argv[1])), settings)
    write(settings, rest)
    raise SystemExit(ERASURES_PENDING if waiting else 0)


if __name__ == "__main__":
    main()
