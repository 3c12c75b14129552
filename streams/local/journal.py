"""The journal: everything that the embedded broker holds, in files, because the broker keeps nothing itself.

A folder of segments. Each is a sequence of frames, each frame a length, a checksum, a kind and its content: whole
record batches as producers sent them, and the offsets that the workers' group has committed. A frame that a crash cut
off, and whatever follows it in its segment, was never acknowledged. A complete segment replaces those before it.
"""

import fcntl
import json
import logging
import os
import struct
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any

from schemas import TOPICS
from streams.exceptions import StreamsError
from streams.local.batches import Record, bounds, records
from streams.local.wire import Partition
from streams.settings import Settings

VERSION = 1
FOLDER = "journal"
LOCK_SECONDS = 60.0
_FRAME = struct.Struct(">IIc")
_HEAD, _BATCH, _COMMITS = b"H", b"B", b"C"
_NAME = struct.Struct(">HI")

logger = logging.getLogger("sager.journal")


class JournalUnusable(StreamsError, RuntimeError):
    """The journal is another deployment's or release's, or in use."""


@dataclass
class Log:
    """What a journal holds.

    Attributes:
        records: of every partition, in order.
        commits: the next offset that the workers have to do.
    """

    records: dict[Partition, list[Record]] = field(default_factory=dict)
    commits: dict[Partition, int] = field(default_factory=dict)
    ends: dict[Partition, int] = field(default_factory=dict)

    def take(self, partition: Partition, batch: bytes) -> None:
        """Add a batch."""
        self.records.setdefault(partition, []).extend(records(batch))
        self.ends[partition] = max(bounds(batch)[1], self.ends.get(partition, 0))


def folder_of(settings: Settings) -> Path:
    """Where the journal of this data folder is."""
    return settings.data_dir / FOLDER


def segments(folder: Path) -> list[Path]:
    """The segments in their order, without those that a later one replaces."""
    found = sorted(folder.glob("*.segment"))
    for place in range(len(found) - 1, 0, -1):
        if is_complete(found[place]):
            return found[place:]
    return found


def frames(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Kind and content of a segment's frames, up to where it is cut off."""
    with path.open("rb") as file:
        while len(head := file.read(_FRAME.size)) == _FRAME.size:
            length, checksum, kind = _FRAME.unpack(head)
            content = file.read(length)
            if len(content) < length or zlib.crc32(content) != checksum:
                logger.warning("%s is cut off at byte %s; what follows was never accepted", path, file.tell())
                return
            yield kind, content


def read(settings: Settings, until: Path | None = None) -> Log | None:
    """All that the journal holds, or holds up to this segment; None where there is none.

    Raises:
        JournalUnusable: it is of another release, prefix or number of partitions.
    """
    while True:
        try:
            return _read(settings, until)
        except FileNotFoundError:
            continue  # compaction has replaced a segment meanwhile: what it held is in a later one


def _read(settings: Settings, until: Path | None) -> Log | None:
    log, found = Log(), segments(folder_of(settings))
    for path in found:
        if until is not None and path.stem > until.stem:
            break
        for kind, content in frames(path):
            if kind == _HEAD:
                _check(settings, path, json.loads(content))
            elif kind == _BATCH:
                size, number = _NAME.unpack_from(content)
                name = content[_NAME.size : _NAME.size + size].decode()
                log.take((name, number), content[_NAME.size + size :])
            elif kind == _COMMITS:
                log.commits |= {(name, int(number)): at for name, number, at in json.loads(content)}
    for held in log.records.values():
        held.sort(key=attrgetter("offset"))  # batches of two producers may come in another order
    return log if found else None


def _check(settings: Settings, path: Path, head: Mapping[str, Any]) -> None:
    retreat = f"or move {path.parent} away: skills and interactions then come from the DuckDB file, and nothing else"
    if head["version"] != VERSION:
        raise JournalUnusable(
            f"{path} was written by another release (format {head['version']}, this one reads {VERSION}): "
            f"use that release, {retreat}"
        )
    for name, value in (("partitions", settings.partitions), ("prefix", settings.prefix), ("app_id", settings.app_id)):
        if head[name] != value:
            raise JournalUnusable(
                f"SAGER_{name.upper()} is {value}, but the events in {path.parent} were kept with {head[name]}: set "
                f"SAGER_{name.upper()}={head[name]}, {retreat}"
            )


class Segment:
    """A segment that is being written. Nothing is buffered here: what was added survives the end of this process.

    Args:
        settings: the deployment.
        complete: whether it replaces all segments before it. It then bears its name once `finish` is called.
        path: where, instead of behind the last segment.
        after: how far behind the last segment.
    """

    def __init__(self, settings: Settings, *, complete: bool = False, path: Path | None = None, after: int = 1) -> None:
        folder = folder_of(settings)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        numbers = [int(each.stem) for each in folder.glob("*.segment")]
        self.path = path or folder / f"{max(numbers, default=0) + after:08d}.segment"
        self._at = self.path.with_suffix(".new") if complete else self.path
        self._file = os.open(self._at, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        self.size = 0
        self._is_dirty = False
        head = {
            "version": VERSION,
            "complete": complete,
            "partitions": settings.partitions,
            "prefix": settings.prefix,
            "app_id": settings.app_id,
        }
        self._add(_HEAD, json.dumps(head).encode())

    def batch(self, partition: Partition, batch: bytes) -> None:
        """Add a batch, which stands at the offsets that it names."""
        name = partition[0].encode()
        self._add(_BATCH, _NAME.pack(len(name), partition[1]) + name + batch)

    def commits(self, offsets: Mapping[Partition, int]) -> None:
        """Add what the workers have committed."""
        rows = [(name, number, at) for (name, number), at in sorted(offsets.items())]
        self._add(_COMMITS, json.dumps(rows).encode())

    def sync(self) -> None:
        """Have the disk hold what was added."""
        if self._is_dirty:
            self._is_dirty = False  # first: another thread may append meanwhile
            os.fsync(self._file)

    def finish(self) -> None:
        """Sync, give the segment its name, and remove those that it replaces."""
        self.sync()
        os.close(self._file)
        if self._at != self.path:
            self._at.replace(self.path)
            _sync_folder(self.path.parent)
            for each in self.path.parent.glob("*.segment"):
                if each.stem < self.path.stem:
                    each.unlink()
            for unfinished in self.path.parent.glob("*.new"):
                unfinished.unlink()

    def _add(self, kind: bytes, content: bytes) -> None:
        data = memoryview(_FRAME.pack(len(content), zlib.crc32(content), kind) + content)
        self.size += len(data)
        self._is_dirty = True
        while data:
            data = data[os.write(self._file, data) :]


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Lock:
    """One `sager up` per data folder; held until every process that inherited it has ended.

    Raises:
        JournalUnusable: another one holds it and does not end.
    """

    def __init__(self, settings: Settings, seconds: float = LOCK_SECONDS) -> None:
        folder = folder_of(settings)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        give_up, told = time.monotonic() + seconds, False
        while True:
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if time.monotonic() > give_up:
                    os.close(self.file)
                    raise JournalUnusable(
                        f"another `sager up` uses {settings.data_dir}, or is still ending: end it, or name another "
                        "folder with --data-dir"
                    ) from error
                if not told:
                    told = True
                    logger.warning("another `sager up` uses %s: waiting for it to end", settings.data_dir)
                time.sleep(0.2)
            else:
                return

    def close(self) -> None:
        """Let it go, as far as we hold it."""
        os.close(self.file)


def is_complete(path: Path) -> bool:
    """True if a segment replaces those before it."""
    return any(kind == _HEAD and json.loads(content)["complete"] for kind, content in islice(frames(path), 1))


def partitions_of(settings: Settings) -> list[Partition]:
    """All partitions of the deployment."""
    return [
        (topic.name(settings.prefix), number)
        for topic in TOPICS.values()
        for number in range(topic.partitions(settings.partitions))
    ]
