"""Publishes the live file to analysts: checkpoint, copy in a child process, atomic rename.

A DuckDB file has one read-write process or many readers, never both. Readers therefore get a copy, and an open reader
keeps it while the next one takes its name.
"""

import logging
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
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

PAUSE = 2.0
"""Minimum pause after a publication, as a multiple of the time it took: meanwhile only rows are written."""

READ_ONLY = private.FILE & 0o444
"""A snapshot's mode. Its owner, too, only reads it."""

INVALIDATED = "has been invalidated"
"""DuckDB's message for this or an earlier failure when only reopening the file helps."""

_PYTHON_COPY = "import shutil, sys; shutil.copyfile(sys.argv[1], sys.argv[2])"


class Publisher:
    """Publishes at most every `seconds`, less often if it takes long, and only after changes.

    Args:
        target: the file that analysts open.
        clock: a monotonic clock, in seconds.
        group: who may read the file besides its owner.

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
        self._store, self._target, self._seconds, self._clock = store, target, seconds, clock
        self._group = group
        self._newest: datetime | None = None
        # A file with commits that a kill left unpublished is published at the next start.
        self._dirty = True
        self._due = clock()
        self.is_failing = False

    def note(self, newest: datetime | None = None) -> None:
        """Notes a change to publish, up to a record of this Kafka timestamp."""
        self._dirty = True
        if newest is not None:
            self._newest = max(newest, self._newest or newest)

    def publish_if_due(self) -> bool:
        """Publishes if something changed and a publication is due; returns whether it did.

        A failure is logged, counted and retried later: a full disk must not stop the rows.

        Raises:
            duckdb.Error: the live file could not be written; DuckDB refuses further work until it is reopened.
        """
        self._clear_strays()
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

    def _clear_strays(self) -> None:
        """Removes what lies beside the snapshot and would be carried out by whoever opens it; readers refuse it."""
        for stray in strays(self._target):
            try:
                remove_stray(stray)
            except OSError as error:
                self._count_failure()
                log.error("%s lies beside the snapshot, nobody can read it, and it cannot be removed: %s", stray, error)  # noqa: TRY400
            else:
                log.warning("removed %s, which was not ours: a client had opened the snapshot for writing", stray)

    def _count_failure(self) -> None:
        self.is_failing = True
        metrics.PUBLISH_FAILURES.inc()

    def publish_if_changed(self) -> bool:
        """Publishes at shutdown, if something changed."""
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
            copy_and_rename(self._store.path, self._target, self._group)
        ended = self._clock()
        self._dirty, self._due = False, ended + max(self._seconds, PAUSE * (ended - began))
        metrics.SNAPSHOT_TIMESTAMP.set(now.timestamp())
        _measure(live=self._store.path, wal=_wal(self._store.path), snapshot=self._target)


def copy_and_rename(live: Path, target: Path, group: str | None = None) -> None:
    """Copies the file in a child process and replaces the published one with the copy, which others cannot read.

    Raises:
        MaterializerError: the copy failed; the published file is unchanged.
        OSError: the folder cannot be written.
    """
    private.make(target.parent, group)
    temporary = target.with_name(target.name + ".tmp")
    temporary.unlink(missing_ok=True)
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        _copy(live, temporary)
        if group:
            private.give(temporary, group)
        # Read-only, because the DuckDB command line opens read-write by default and leaves a .wal behind,
        # which makes every later snapshot of this name unreadable.
        temporary.chmod(READ_ONLY)
        for stray in strays(target):
            remove_stray(stray)
        temporary.replace(target)
    finally:
        # A partial copy would take the space that the next one needs.
        temporary.unlink(missing_ok=True)


def remove_stray(stray: Path) -> None:
    """Removes a file, a link or an empty folder that has the name of a snapshot's write-ahead log."""
    if stray.is_dir() and not stray.is_symlink():
        stray.rmdir()
    else:
        stray.unlink(missing_ok=True)


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
