"""Publishes the live file to analysts: checkpoint, copy by a child process, atomic rename.

A DuckDB file has one read-write process or many readers, never both; so readers get a copy of their own, which an
open reader keeps while the next one takes its name.
"""

import logging
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from streams.materializer import metrics
from streams.materializer.exceptions import MaterializerError
from streams.materializer.store import Store

log = logging.getLogger(__name__)

COPY_SECONDS = 600.0
"""The longest that a copy may take."""

PAUSE = 2.0
"""After a publication the rows have the writer for themselves for at least this many times as long as it took."""

INVALIDATED = "has been invalidated"
"""What DuckDB says, be it of this or of an earlier failure, where only opening the file anew helps."""

_PYTHON_COPY = "import shutil, sys; shutil.copyfile(sys.argv[1], sys.argv[2])"


class Publisher:
    """Publishes at most every `seconds`, less often where it takes long, and only what is new.

    Args:
        target: the file that analysts open.
        clock: a monotonic clock, in seconds.

    Raises:
        MaterializerError: the target is the live file itself.
    """

    def __init__(self, store: Store, target: Path, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        if target.resolve() == store.path.resolve():
            raise MaterializerError(f"SAGER_DUCKDB is the live file {target} itself; choose another path")
        self._store, self._target, self._seconds, self._clock = store, target, seconds, clock
        self._newest: datetime | None = None
        # A file that was committed to but not published, before a kill, is published at the next start.
        self._dirty = True
        self._due = clock()
        self.is_failing = False

    def note(self, newest: datetime | None = None) -> None:
        """There is something new to publish, up to a record of this Kafka timestamp."""
        self._dirty = True
        if newest is not None:
            self._newest = max(newest, self._newest or newest)

    def publish_if_due(self) -> bool:
        """Publishes when something changed and the time has come. Says whether it did.

        A failure is logged and counted and tried again later: no room for a copy must not stop the rows.

        Raises:
            duckdb.Error: the live file could not be written; DuckDB does nothing more until it is opened anew.
        """
        if not self._dirty or self._clock() < self._due:
            return False
        try:
            self.publish()
        except (MaterializerError, OSError, duckdb.Error) as error:
            self._count_failure()
            if INVALIDATED in str(error):
                raise
            self._due = self._clock() + self._seconds
            log.error("could not publish %s, trying again in %g s: %s", self._target, self._seconds, error)  # noqa: TRY400 - a full disk needs no traceback
            return False
        self.is_failing = False
        return True

    def _count_failure(self) -> None:
        self.is_failing = True
        metrics.PUBLISH_FAILURES.inc()

    def publish_if_changed(self) -> bool:
        """The last publication, at shutdown."""
        self._due = self._clock()
        return self.publish_if_due()

    def publish(self) -> None:
        """Publishes now.

        Raises:
            MaterializerError: the copy failed.
            OSError: the folder cannot be written.
        """
        began = self._clock()
        with metrics.PUBLISH_SECONDS.time():
            now = datetime.now(UTC)
            self._store.checkpoint(now.replace(tzinfo=None), self._newest)
            copy_and_rename(self._store.path, self._target)
        ended = self._clock()
        self._dirty, self._due = False, ended + max(self._seconds, PAUSE * (ended - began))
        metrics.SNAPSHOT_TIMESTAMP.set(now.timestamp())
        _measure(live=self._store.path, wal=_wal(self._store.path), snapshot=self._target)


def copy_and_rename(live: Path, target: Path) -> None:
    """Copies the file with a child process and puts the copy in place of the old one.

    Raises:
        MaterializerError: the copy failed; the old one is still in its place.
        OSError: the folder cannot be written.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(target.name + ".tmp")
    temporary.unlink(missing_ok=True)
    try:
        _copy(live, temporary)
        # Read-only, because the DuckDB command line opens read-write unless told otherwise, and leaves a .wal behind,
        # which makes every later snapshot of this name unreadable.
        temporary.chmod(0o444)
        _wal(target).unlink(missing_ok=True)
        temporary.replace(target)
    finally:
        # Half a copy would take the room that the next one needs.
        temporary.unlink(missing_ok=True)


def _copy(live: Path, temporary: Path) -> None:
    # Never with Python's own file calls: closing a descriptor of the live file in this process drops DuckDB's lock.
    copier = [cp] if (cp := shutil.which("cp")) else [sys.executable, "-c", _PYTHON_COPY]
    try:
        done = subprocess.run(  # noqa: S603
            [*copier, str(live), str(temporary)], capture_output=True, text=True, timeout=COPY_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise MaterializerError(f"copying {live} to {temporary} took longer than {COPY_SECONDS:.0f} s") from error
    if done.returncode:
        why = done.stderr.strip().rpartition("\n")[2] or f"the copying process ended with {done.returncode}"
        raise MaterializerError(f"could not copy {live} to {temporary}: {why}")


def _wal(path: Path) -> Path:
    return path.with_name(path.name + ".wal")


def _measure(**files: Path) -> None:
    for name, path in files.items():
        metrics.FILE_BYTES.labels(file=name).set(path.stat().st_size if path.exists() else 0)
