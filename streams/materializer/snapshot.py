"""Publishes the live file to analysts.

A DuckDB file has one read-write process or many readers, never both. Readers therefore get a copy, and an open reader
keeps it while the next one takes its name. The writer stops for the derived tables and the checkpoint only, and after
an erasure for rewriting the file: from then until the next checkpoint it appends to its write-ahead log, and another
process copies the file.
"""

import logging
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from streams import private
from streams.materializer import metrics
from streams.materializer.exceptions import MaterializerError
from streams.materializer.read import strays
from streams.materializer.store import Store

log = logging.getLogger(__name__)

COPY_SECONDS = 600.0
"""Time limit for a copy."""

READ_ONLY = private.FILE & 0o444
"""A snapshot's mode. Its owner, too, only reads it."""

PAUSE = 3.0
"""Pause after a publication, as a multiple of the time that it took: three quarters of the time belong to rows."""

LOG_BYTES = 1024**3
"""How large the write-ahead log may become before a publication is due, whose checkpoint empties it."""

INVALIDATED = "has been invalidated"
"""DuckDB's message for this or an earlier failure when only reopening the file helps."""


class Publisher:
    """Publishes at most every `seconds`, less often if that takes long, and only after changes.

    Args:
        target: the file that analysts open.
        clock: a monotonic clock, in seconds.
        group: the group that may read the file, besides its owner.

    Raises:
        MaterializerError: the target is the live file itself.
    """

    def __init__(
        self,
        store: Store,
        target: Path,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        *,
        group: str | None = None,
    ) -> None:
        if target.resolve() == store.path.resolve():
            raise MaterializerError(f"SAGER_DUCKDB is the live file {target} itself; choose another path")
        self._store, self._target, self._seconds, self._clock, self._group = store, target, seconds, clock, group
        self._wal = store.path.with_name(store.path.name + ".wal")
        self._newest: datetime | None = None
        # A file with commits that a kill left unpublished is published at the next start.
        self._dirty = True
        self._due = self._began = self._ended = clock()
        self._thread = ThreadPoolExecutor(1, "publisher")
        self._copying: Future[None] | None = None
        self.is_failing = False

    def note(self, newest: datetime | None = None) -> None:
        """Note a change to publish, up to a record of this Kafka timestamp."""
        self._dirty = True
        if newest is not None:
            self._newest = max(newest, self._newest or newest)

    def publish_if_due(self) -> None:
        """Begin a publication if something changed and one is due.

        A failure is logged, counted and retried later: a full disk must not stop the rows.

        Raises:
            duckdb.Error: the live file could not be written; DuckDB refuses further work until it is reopened.
        """
        try:
            remove_strays(self._target)
        except OSError as error:
            self._count_failure()
            log.error("no reader opens the snapshot: %s", error)  # noqa: TRY400
        self.finish(wait=False)
        is_due = self._clock() >= self._due or (_size(self._wal) > LOG_BYTES and not self.is_failing)
        if self._copying is None and self._dirty and is_due:
            try:
                self._begin()
            except (MaterializerError, OSError, duckdb.Error) as error:
                if self._store.is_broken or INVALIDATED in str(error):
                    self._count_failure()
                    raise
                self._fail(error)

    def finish(self, *, wait: bool = True) -> bool:
        """Take note of the end of a publication under way; return true if it succeeded."""
        if self._copying is None or not (wait or self._copying.done()):
            return False
        error, self._copying = self._copying.exception(), None
        self._due = max(self._began + self._seconds, self._ended + PAUSE * (self._ended - self._began))
        if isinstance(error, (MaterializerError, OSError)):
            self._fail(error)
            return False
        if error is not None:
            raise error
        self.is_failing = False
        return True

    def publish_if_changed(self) -> None:
        """Publish at shutdown, if something changed, and leave no erased row in a file; log a failure."""
        try:
            self.finish()
            if self._dirty:
                self.publish()
        except (MaterializerError, OSError) as error:
            self._fail(error)

    def publish(self) -> None:
        """Publish now, and leave no erased row in a file.

        Raises:
            MaterializerError: the copy failed.
            OSError: the folder cannot be written.
        """
        self.finish()
        self._begin().result()
        self.finish()

    def close(self) -> None:
        """Wait for a copy under way. The live file may be closed after that."""
        self._thread.shutdown()

    def _begin(self) -> Future[None]:
        """Stop the writer for as long as it takes to bring the live file up to date, and copy it in a thread."""
        self._began = self._clock()
        now = datetime.now(UTC)
        self._store.checkpoint(now.replace(tzinfo=None), self._newest)
        if self._store.is_stained():
            log.info("rewriting %s without the rows that were deleted; new rows wait", self._store.path)
            self._store.rewrite()
        self._dirty = False
        self._copying = self._thread.submit(self._copy, now)
        return self._copying

    def _copy(self, now: datetime) -> None:
        try:
            copy_and_rename(self._store.path, self._target, self._group)
        finally:
            self._ended = self._clock()
        metrics.PUBLISH_SECONDS.observe(self._ended - self._began)
        metrics.SNAPSHOT_TIMESTAMP.set(now.timestamp())
        for name, file in {"live": self._store.path, "wal": self._wal, "snapshot": self._target}.items():
            metrics.FILE_BYTES.labels(file=name).set(_size(file))

    def _fail(self, error: Exception) -> None:
        self._count_failure()
        self._dirty = True
        now = self._clock()
        self._due = now + max(self._seconds, PAUSE * (now - self._began))
        log.error("could not publish %s, trying again in %g s: %s", self._target, self._due - now, error)

    def _count_failure(self) -> None:
        self.is_failing = True
        metrics.PUBLISH_FAILURES.inc()


def copy_and_rename(live: Path, target: Path, group: str | None = None) -> None:
    """Copy a file that no process checkpoints, and rename the copy to the name that analysts open.

    Raises:
        MaterializerError: the copy failed; the published file is unchanged.
        OSError: the folder cannot be written.
    """
    private.make(target.parent, group)
    fresh = target.with_name(target.name + ".tmp")
    fresh.unlink(missing_ok=True)
    os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    # Never with Python's own file calls: closing a descriptor of the live file in this process drops DuckDB's lock.
    # `cp` shares blocks where the file system can (XFS, btrfs).
    command = [shutil.which("cp") or "/bin/cp", str(live), str(fresh)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COPY_SECONDS, check=False)  # noqa: S603
        if done.returncode:
            why = done.stderr.strip().rpartition("\n")[2] or f"the copying process ended with {done.returncode}"
            raise MaterializerError(f"could not copy {live} to {fresh}: {why}")
        if group:
            private.give(fresh, group)
        # Read-only, because the DuckDB command line opens read-write by default and leaves a .wal behind,
        # which makes every later snapshot of this name unreadable.
        fresh.chmod(READ_ONLY)
        remove_strays(target)
        fresh.replace(target)
    except subprocess.TimeoutExpired as error:
        raise MaterializerError(f"copying {live} took longer than {COPY_SECONDS:.0f} s") from error
    finally:
        # A partial copy would take the space that the next one needs.
        fresh.unlink(missing_ok=True)


def remove_strays(snapshot: Path) -> None:
    """Remove files beside a snapshot that DuckDB would take for its log; readers refuse a snapshot with one."""
    for stray in strays(snapshot):
        stray.rmdir() if stray.is_dir() and not stray.is_symlink() else stray.unlink(missing_ok=True)
        log.warning("removed %s, which was not ours: a client had opened the snapshot for writing", stray)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
