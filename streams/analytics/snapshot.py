"""Publishes copies of the live file to analysts.

A DuckDB file has one writing process or many readers, never both. So readers open a copy, and keep it open while the
next copy replaces it. Rows wait while the file is copied and, after an erasure, rewritten.
"""

import logging
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from streams import permissions
from streams.analytics import MaterializerError, metrics
from streams.analytics.read import stray_logs
from streams.analytics.store import DuckDBStore

log = logging.getLogger(__name__)

Clock = Callable[[], float]
COPY_SECONDS = 600.0
# Part of DuckDB's message for a failure after which the file must be reopened.
INVALIDATED_MESSAGE = "has been invalidated"


class Publisher:
    """Publishes changes to `target` every `seconds`, or less often if slow.

    `group` may read the snapshot, besides its owner.
    """

    def __init__(
        self,
        store: DuckDBStore,
        target: Path,
        seconds: float,
        clock: Clock = time.monotonic,
        *,
        group: str | None = None,
    ) -> None:
        if target.resolve() == store.path.resolve():
            raise MaterializerError(f"SAGER_DUCKDB is the live file {target} itself; choose another path")
        self._store, self._target, self._seconds, self._clock, self._group = store, target, seconds, clock, group
        self._newest: datetime | None = None
        # A kill may have left commits unpublished.
        self._dirty = True
        self._due = clock()
        self.is_failing = False

    def mark_changed(self, newest: datetime | None = None) -> None:
        """Mark the file as changed, up to a record of this time."""
        self._dirty = True
        if newest is not None:
            self._newest = max(newest, self._newest or newest)

    def publish_if_due(self) -> bool:
        """Publish changes if a publication is due; return true if it succeeded.

        A failure is logged, counted and retried later, as a full disk must not stop the rows. Raises duckdb.Error if
        the live file must be reopened.
        """
        try:
            remove_stray_logs(self._target)
        except OSError as error:
            self._count_failure()
            log.error("no reader opens the snapshot: %s", error)  # noqa: TRY400
        return self._clock() >= self._due and self.publish_if_changed()

    def publish(self) -> None:
        """Publish now, without erased rows in a file."""
        began, now = self._clock(), datetime.now(UTC)
        self._store.checkpoint(now.replace(tzinfo=None), self._newest)
        if self._store.is_stained():
            log.info("rewriting %s without the rows that were deleted", self._store.path)
            self._store.rewrite()
        copy_and_rename(self._store.path, self._target, self._group)
        self._dirty = self.is_failing = False
        metrics.PUBLISH_SECONDS.observe(self._clock() - began)
        metrics.SNAPSHOT_TIMESTAMP.set(now.timestamp())
        for name, file in {"live": self._store.path, "snapshot": self._target}.items():
            metrics.FILE_BYTES.labels(file=name).set(file.stat().st_size)

    def publish_if_changed(self) -> bool:
        """Publish if the file changed; return true if it succeeded."""
        if not self._dirty:
            return False
        began = self._clock()
        try:
            self.publish()
        except (MaterializerError, OSError, duckdb.Error) as error:
            self._count_failure()
            if self._store.is_broken or INVALIDATED_MESSAGE in str(error):
                raise
            log.error("could not publish %s, trying again later: %s", self._target, error)  # noqa: TRY400
        now = self._clock()
        self._due = max(began + self._seconds, now + 3 * (now - began))  # leave three quarters of the time to rows
        return not self._dirty

    def _count_failure(self) -> None:
        self.is_failing = True
        metrics.PUBLISH_FAILURES.inc()


def copy_and_rename(live: Path, target: Path, group: str | None = None) -> None:
    """Copy a file without a running checkpoint, and rename it to `target`."""
    permissions.make_private(target.parent, group)
    fresh = target.with_name(target.name + ".tmp")
    fresh.unlink(missing_ok=True)
    os.close(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    # In another process: closing any descriptor of the live file in this one would drop DuckDB's lock. `cp` shares
    # blocks if the file system can (XFS, btrfs).
    command = [shutil.which("cp") or "/bin/cp", str(live), str(fresh)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COPY_SECONDS, check=False)  # noqa: S603
        if done.returncode:
            why = done.stderr.strip().rpartition("\n")[2] or f"the copying process ended with {done.returncode}"
            raise MaterializerError(f"could not copy {live} to {fresh}: {why}")
        if group:
            permissions.give_to_group(fresh, group)
        # Read-only for its owner too: the DuckDB command line opens read-write by default and leaves a .wal, which
        # makes later snapshots of this name unreadable.
        fresh.chmod(permissions.FILE & 0o444)
        remove_stray_logs(target)
        fresh.replace(target)
    except subprocess.TimeoutExpired as error:
        raise MaterializerError(f"copying {live} took longer than {COPY_SECONDS:.0f} s") from error
    finally:
        # A partial copy would occupy the space of the next one.
        fresh.unlink(missing_ok=True)


def remove_stray_logs(snapshot: Path) -> None:
    """Remove write-ahead logs beside a snapshot, with which readers refuse it."""
    for stray in stray_logs(snapshot):
        stray.rmdir() if stray.is_dir() and not stray.is_symlink() else stray.unlink(missing_ok=True)
        log.warning("removed %s: a client had opened the snapshot for writing", stray)
