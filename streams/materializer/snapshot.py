"""Publishes the live file to analysts, and rewrites it after an erasure, while rows go on.

A DuckDB file has one read-write process or many readers, never both. Readers therefore get a copy, and an open reader
keeps it while the next one takes its name. The writer stops for the derived tables and the checkpoint only: from then
until the next checkpoint it appends to its write-ahead log, and another process copies the file.
"""

import logging
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from streams import private
from streams.materializer import metrics
from streams.materializer.exceptions import MaterializerError
from streams.materializer.files import copy_rows, remove_database
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

_NICENESS = 10
"""Of a process that rewrites the file: rows and readers come first."""


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
        self._rewriting: Rewriting | None = None
        self._is_stained = False
        self.is_failing = False
        self.is_held = False
        """True while the file has fewer rows than the published one, because rows are read again after a rewriting."""

    def note(self, newest: datetime | None = None) -> None:
        """Note a change to publish, up to a record of this Kafka timestamp."""
        self._dirty = True
        if newest is not None:
            self._newest = max(newest, self._newest or newest)

    def publish_if_due(self) -> bool:
        """Begin a publication if something changed and one is due; return true if an earlier one has ended.

        A failure is logged, counted and retried later: a full disk must not stop the rows.

        Raises:
            duckdb.Error: the live file could not be written; DuckDB refuses further work until it is reopened.
        """
        try:
            remove_strays(self._target)
        except OSError as error:
            self._count_failure()
            log.error("no reader opens the snapshot: %s", error)  # noqa: TRY400
        has_ended = self._collect()
        is_due = self._clock() >= self._due or (_size(self._wal) > LOG_BYTES and not self.is_failing)
        if self._copying is None and self._dirty and is_due and not self.is_held:
            try:
                self._begin()
            except (OSError, duckdb.Error) as error:
                if self._store.is_broken or INVALIDATED in str(error):
                    self._count_failure()
                    raise
                self._fail(error)
        return has_ended

    def adopt_if_rewritten(self) -> bool:
        """Replace the live file by a rewritten one, if that is ready; return true if reading must go back.

        The new file has the rows and offsets of the snapshot that it was made from. Kafka has the later ones.
        """
        if self._rewriting is None or self._copying is not None or self._rewriting.is_running():
            return False
        rewriting, self._rewriting = self._rewriting, None
        try:
            fresh = rewriting.result()
            try:
                self._store.adopt(fresh)
            except OSError as error:  # the old file is open again, perhaps without its newest rows
                self._fail(error)
        except MaterializerError as error:
            self._fail(error)
            return False
        finally:
            rewriting.stop()
        self._dirty = True
        return True

    def abandon_rewriting(self) -> None:
        """Stop a rewriting whose offsets have become void; a later publication begins another."""
        if self._rewriting is not None:
            self._rewriting.stop()
            self._rewriting, self._dirty = None, True

    def finish(self) -> bool:
        """Wait until a publication under way has ended; return true if it succeeded."""
        if self._copying is not None:
            self._copying.exception()
        return self._collect()

    def publish_if_changed(self) -> None:
        """Publish at shutdown, if something changed, and leave no erased row in a file; log a failure."""
        try:
            self.finish()
            if self._dirty or self._rewriting is not None:
                self.publish()
        except (MaterializerError, OSError) as error:
            self._fail(error)

    def publish(self) -> None:
        """Publish now, and leave no erased row in a file. Nothing may be written meanwhile.

        Raises:
            MaterializerError: the copy failed.
            OSError: the folder cannot be written.
        """
        self.finish()
        self.abandon_rewriting()
        self._begin()
        if self._copying is not None:
            self._copying.result()
        self._collect()
        if self._rewriting is not None:
            self._store.adopt(self._rewriting.result())
            self.publish()

    def close(self) -> None:
        """End what is under way. The live file may be closed after that."""
        self.abandon_rewriting()
        self._thread.shutdown()

    def _begin(self) -> None:
        """Stop the writer for as long as it takes to bring the live file up to date, and copy it in a thread."""
        self._began = self._clock()
        now = datetime.now(UTC)
        self._store.checkpoint(now.replace(tzinfo=None), self._newest)
        self._dirty, self._is_stained = False, self._store.is_stained()
        self._copying = self._thread.submit(self._copy, now)

    def _copy(self, now: datetime) -> None:
        try:
            copy_and_rename(self._store.path, self._target, self._group)
        finally:
            self._ended = self._clock()
        metrics.PUBLISH_SECONDS.observe(self._ended - self._began)
        metrics.SNAPSHOT_TIMESTAMP.set(now.timestamp())
        for name, file in {"live": self._store.path, "wal": self._wal, "snapshot": self._target}.items():
            metrics.FILE_BYTES.labels(file=name).set(_size(file))

    def _collect(self) -> bool:
        """Return true if a publication has ended well; one that has failed is tried again."""
        if self._copying is None or not self._copying.done():
            return False
        error, self._copying = self._copying.exception(), None
        self._due = max(self._began + self._seconds, self._ended + PAUSE * (self._ended - self._began))
        if isinstance(error, (MaterializerError, OSError)):
            self._fail(error)
            return False
        if error is not None:
            raise error
        self.is_failing = False
        if self._is_stained and self._rewriting is None:
            log.info("rewriting %s beside its rows, without those that were deleted", self._store.path)
            self._rewriting = Rewriting(self._target, self._store.path)
        return True

    def _fail(self, error: Exception) -> None:
        self._count_failure()
        self._dirty = True
        self._due = self._clock() + self._seconds
        log.error("could not publish %s, trying again in %g s: %s", self._target, self._seconds, error)

    def _count_failure(self) -> None:
        self.is_failing = True
        metrics.PUBLISH_FAILURES.inc()


class Rewriting:
    """Makes a new live file from a snapshot, in a process of its own at a low priority.

    DuckDB leaves deleted rows in free blocks and in indexes, so only a new file is without them.
    """

    def __init__(self, snapshot: Path, live: Path) -> None:
        self._live, self._fresh = live, live.with_name(live.name + ".fresh")
        # Not a fork: DuckDB's threads would be missing in it. The snapshot is opened at once, and stays open.
        context = multiprocessing.get_context("spawn")
        self._process = context.Process(target=_rewrite, args=(snapshot, self._fresh), daemon=True)
        self._process.start()

    def is_running(self) -> bool:
        """True until the new file is ready, or has failed."""
        return self._process.is_alive()

    def result(self) -> Path:
        """Wait for the new file.

        Raises:
            MaterializerError: it could not be made.
        """
        self._process.join()
        if self._process.exitcode:
            raise MaterializerError(
                f"could not rewrite {self._live}: its process ended with {self._process.exitcode}; is the disk full?"
            )
        return self._fresh

    def stop(self) -> None:
        """End the process and remove its files."""
        self._process.kill()
        self._process.join()
        remove_database(self._fresh)


def _rewrite(snapshot: Path, fresh: Path) -> None:
    os.nice(_NICENESS)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        copy_rows(snapshot, fresh)
    except (duckdb.Error, MaterializerError) as error:
        sys.exit(f"could not write {fresh}: {error}")


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


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
