"""Publishes the live file to analysts, and writes it anew after somebody was forgotten, while rows go on.

A DuckDB file has one read-write process or many readers, never both. Readers therefore get a copy, and an open reader
keeps it while the next one takes its name. The writer stops for the derived tables and the checkpoint only: from then
until the next checkpoint it appends to its write-ahead log, and other processes copy the file.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from streams.materializer import metrics
from streams.materializer.exceptions import MaterializerError
from streams.materializer.generations import Generations, remove_stray
from streams.materializer.read import strays
from streams.materializer.rewriting import MOST_KEYS, Rewriting
from streams.materializer.store import Store

log = logging.getLogger(__name__)

PAUSE, PAUSE_BEHIND = 0.25, 3.0
"""Minimum pause after the writer has stopped for a publication, as a multiple of the stop: only rows are written. It is
longer where rows lag behind Kafka, because then a fresh file has old rows anyway."""

MOST_PAUSE = 10.0
"""That pause in seconds at most: a stop is long once, when everything is derived again."""

LOG_BYTES = 1024**3
"""How large the write-ahead log may become: beyond it a publication is due, and rows wait for a copy under way."""

INVALIDATED = "has been invalidated"
"""DuckDB's message for this or an earlier failure when only reopening the file helps."""


class Publisher:
    """Publishes at most every `seconds`, less often if the writer stops for long, and only after changes.

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
        self._files = Generations(store.path, target, group)
        self._newest: datetime | None = None
        # A file with commits that a kill left unpublished is published at the next start.
        self._dirty = True
        self._due, self._stopped, self._stop = clock(), clock(), 0.0
        self._thread = ThreadPoolExecutor(1, "publisher")
        self._copying: Future[None] | None = None
        self._rewriting: Rewriting | None = None
        self.is_failing = False

    def note(self, newest: datetime | None = None) -> None:
        """Notes a change to publish, up to a record of this Kafka timestamp."""
        self._dirty = True
        if newest is not None:
            self._newest = max(newest, self._newest or newest)

    def publish_if_due(self, *, is_behind: bool = False) -> bool:
        """Begins a publication if something changed and one is due; returns whether an earlier one has ended.

        Args:
            is_behind: whether more rows wait to be read than a batch has.

        A failure is logged, counted and retried later: a full disk must not stop the rows.

        Raises:
            duckdb.Error: the live file could not be written; DuckDB refuses further work until it is reopened.
        """
        self._clear_strays()
        self._wait_if_too_much()
        has_ended = self._collect()
        is_due = self._clock() >= self._due_at(is_behind) or self._is_log_full()
        if self._is_free() and (self._dirty or self._is_rewritten()) and is_due:
            try:
                self._begin()
            except (MaterializerError, OSError, duckdb.Error) as error:
                if self._store.is_broken or INVALIDATED in str(error):
                    self._count_failure()
                    raise
                self._fail(error)
        return has_ended

    def finish(self) -> bool:
        """Waits until what has begun is published; returns whether it was."""
        if self._copying is not None:
            self._copying.exception()
        return self._collect()

    def publish_if_changed(self) -> bool:
        """Publishes at shutdown, if something changed, and lets nothing forgotten stay in a file."""
        has_published = self.finish()
        self.is_failing = False  # whatever kept an earlier one from it: this is the last chance
        while not self.is_failing and (self._dirty or self._rewriting is not None):
            self._wait_for_rewriting()
            self._due, self._stop = self._clock(), 0.0
            self.publish_if_due()
            has_published = self.finish() or has_published
        return has_published

    def publish(self) -> None:
        """Publishes now, and lets nothing forgotten stay in a file.

        Raises:
            MaterializerError: the copy failed.
            OSError: the folder cannot be written.
        """
        self._dirty = True
        while self._dirty or self._rewriting is not None:
            self._wait_for_rewriting()
            self._begin()
            if self._copying is not None:
                self._copying.result()
            self._collect()

    def close(self) -> None:
        """Ends what is under way. The live file may be closed after that."""
        if self._rewriting is not None:
            self._rewriting.stop()
        self._thread.shutdown()

    def _begin(self) -> None:
        """Stops the writer for as long as it takes to bring the live file up to date, and has it copied."""
        began = self._clock()
        self._adopt()
        now = datetime.now(UTC)
        self._store.checkpoint(now.replace(tzinfo=None), self._newest)
        if self._rewriting is None and self._store.is_stained():
            log.info("writing %s anew beside its rows, so that nothing stays of what was deleted", self._store.path)
            self._rewriting = self._store.rewrite()
        self._dirty = False
        self._copying = self._thread.submit(self._copy, began, now)
        stopped = self._clock()
        self._due, self._stopped, self._stop = began + self._seconds, stopped, stopped - began

    def _copy(self, began: float, now: datetime) -> None:
        self._files.publish()
        metrics.PUBLISH_SECONDS.observe(self._clock() - began)
        metrics.SNAPSHOT_TIMESTAMP.set(now.timestamp())
        _measure(live=self._store.path, wal=_wal(self._store.path), snapshot=self._target)

    def _collect(self) -> bool:
        """Whether a publication has ended well; one that has not is tried again."""
        if self._copying is None or not self._copying.done():
            return False
        error, self._copying = self._copying.exception(), None
        if isinstance(error, (MaterializerError, OSError)):
            self._fail(error)
            return False
        if error is not None:
            raise error
        self.is_failing = False
        return True

    def _fail(self, error: Exception) -> None:
        self._count_failure()
        self._dirty = True
        self._due = self._clock() + self._seconds
        log.error("could not publish %s, trying again in %g s: %s", self._target, self._seconds, error)

    def _due_at(self, is_behind: bool) -> float:
        pause = min(MOST_PAUSE, (PAUSE_BEHIND if is_behind else PAUSE) * self._stop)
        return max(self._due, self._stopped + pause)

    def _is_log_full(self) -> bool:
        """Whether a checkpoint, which comes with a publication, must keep the write-ahead log from filling the disk."""
        return not self.is_failing and _size(_wal(self._store.path)) > LOG_BYTES

    def _is_free(self) -> bool:
        """Whether nobody copies the live file: it may be checkpointed."""
        return self._copying is None and (self._rewriting is None or self._rewriting.copied.is_set())

    def _is_rewritten(self) -> bool:
        return self._rewriting is not None and self._rewriting.is_done()

    def _adopt(self) -> None:
        """Takes a new file that is ready in the place of the live one.

        Raises:
            MaterializerError, OSError, duckdb.Error: there is none, or not whole; a later publication begins another.
        """
        if not self._is_rewritten() or (rewriting := self._rewriting) is None:
            return
        self._rewriting = None
        try:
            self._store.adopt(rewriting.result())
            self._files.forget()
        finally:
            self._store.changes = None
            rewriting.stop()

    def _wait_for_rewriting(self) -> None:
        if self._rewriting is not None:
            self._rewriting.wait()

    def _wait_if_too_much(self) -> None:
        """Lets rows wait where they would fill the disk or the memory."""
        if self._copying is not None and _size(_wal(self._store.path)) > LOG_BYTES:
            self._copying.exception()
        if self._store.changes is not None and len(self._store.changes) > MOST_KEYS:
            self._wait_for_rewriting()

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


def _wal(path: Path) -> Path:
    return path.with_name(path.name + ".wal")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _measure(**files: Path) -> None:
    for name, path in files.items():
        metrics.FILE_BYTES.labels(file=name).set(_size(path))
