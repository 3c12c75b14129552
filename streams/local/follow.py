"""The process that writes the journal: it follows every partition of the embedded broker, and outlives `sager up`.

It asks for all partitions in one request, often while records come and seldom while none do. What the workers have
committed is asked for first and written last, behind everything that was there by then: an event that counts as done
in the journal has all its effects there.

When `sager up` is gone, killed perhaps, the workers finish what they have begun; this process follows them, and ends
the broker at last, which would not end by itself.
"""

import logging
import os
import select
import signal
import sys
import threading
import time
from types import FrameType

from schemas import Receipt
from streams.exceptions import StreamsError
from streams.local.batches import bounds, built, split
from streams.local.compaction import compacted
from streams.local.journal import Segment, partitions_of, read
from streams.local.wire import Partition, Wire
from streams.logs import configure
from streams.settings import Settings

SHORTEST_SECONDS, LONGEST_SECONDS = 0.05, 0.2
"""Between two looks: while records come, and once none have come for a while."""
COMMITS_SECONDS, SYNC_SECONDS = 0.5, 1.0
QUIET_SECONDS, QUIET_COMMITS_SECONDS = 10.0, 5.0
"""Once nothing has come for so long, what the workers have committed is asked for this seldom: hardly anything has."""
ORPHAN_SECONDS = 15.0
"""How long the workers have to finish what they have begun when `sager up` has gone without a word."""
SEGMENT_BYTES = 64 * 1024 * 1024
AGAIN_SECONDS, AFTERWARDS_SECONDS = 5.0, 60.0
"""Forgetting goes on after its receipt, by items and their takers: the journal is compacted this often, for so long."""

logger = logging.getLogger("sager.journal")


class Follower:
    """Appends what the broker has to the journal.

    Args:
        settings: the deployment.
        segment_bytes: how large a segment may grow before the journal is compacted.
    """

    def __init__(self, settings: Settings, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._settings = settings
        self._segment_bytes = segment_bytes
        self._wire = Wire(settings.bootstrap)
        log = read(settings)
        self._positions = {each: (log.ends.get(each, 0) if log else 0) for each in partitions_of(settings)}
        self._commits = dict(log.commits) if log else {}
        self._segment = Segment(settings)
        self._asked = self._synced = self._came = 0.0
        self._compacting: threading.Thread | None = None
        self._compact_at: float | None = None
        self._again_until = 0.0

    def look(self, *, last: bool = False) -> bool:
        """Append what has come since; whether anything has."""
        now = time.monotonic()
        commits = None
        quiet = now - self._came > QUIET_SECONDS
        if last or now - self._asked > (QUIET_COMMITS_SECONDS if quiet else COMMITS_SECONDS):
            self._asked = now
            commits = self._wire.committed(self._settings.app_id, self._positions)
        came = self._append()
        if came:
            self._came = now
        if commits is not None and commits != self._commits:
            self._commits = commits
            self._segment.commits(commits)
        if last or now - self._synced > SYNC_SECONDS:
            self._segment.sync()
            self._synced = now
        self._compact_if_due(now)
        return came

    def _append(self) -> bool:
        """Read on until every partition's end of a moment after this began is reached."""
        came, wanted = False, dict[Partition, int]()
        while True:
            for partition, (data, end) in self._wire.fetch(self._positions, 1).items():
                for batch in split(data):
                    _, stop = bounds(batch)
                    if stop > self._positions[partition]:
                        self._segment.batch(partition, batch)
                        self._positions[partition] = stop
                        came = True
                        if partition[0] == self._settings.topic(Receipt.TOPIC):
                            self._compact_at = 0.0
                            self._again_until = time.monotonic() + AFTERWARDS_SECONDS
                wanted.setdefault(partition, end)
            if all(self._positions[partition] >= end for partition, end in wanted.items()):
                return came

    def _compact_if_due(self, now: float) -> None:
        if self._compacting is not None and self._compacting.is_alive():
            return
        due = self._compact_at is not None and now >= self._compact_at
        if due or self._segment.size > self._segment_bytes:
            self._compact_at = None
            # The closed ones are put together elsewhere, while this one goes on behind the place kept for the result.
            closed, self._segment = self._segment, Segment(self._settings, after=2)
            closed.finish()
            self._compacting = threading.Thread(target=self._compact, args=(closed,), daemon=True)
            self._compacting.start()

    def _compact(self, closed: Segment) -> None:
        log = read(self._settings, until=closed.path)
        if log is None:
            return
        done = compacted(log, self._settings)
        made = Segment(self._settings, complete=True, path=closed.path.with_stem(f"{int(closed.path.stem) + 1:08d}"))
        for partition, held in done.log.records.items():
            for batch in built(held, contiguous=False):
                made.batch(partition, batch)
        made.commits(done.log.commits)
        made.ids(done.log.ids)
        made.finish()
        if done.waiting or time.monotonic() < self._again_until:
            self._compact_at = time.monotonic() + AGAIN_SECONDS

    def close(self) -> None:
        """Append what is left, and wait until the disk has it."""
        self.look(last=True)
        if self._compacting is not None:
            self._compacting.join()
        self._segment.finish()
        self._wire.close()


def main() -> None:
    """Follow until SIGTERM; or, once standard input ends, until the workers had time to finish."""
    broker = int(sys.argv[1])
    settings = Settings()
    configure(settings.log_level, settings.log_format)
    ending = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        ending.set()

    signal.signal(signal.SIGTERM, end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    follower = Follower(settings)
    print("following", flush=True)
    orphaned_at: float | None = None
    pause = SHORTEST_SECONDS
    while not ending.is_set():
        pause = SHORTEST_SECONDS if follower.look() else min(LONGEST_SECONDS, pause * 1.3)
        if orphaned_at is None:
            if select.select([sys.stdin], [], [], pause)[0] and not os.read(0, 1):
                orphaned_at = time.monotonic()
        elif time.monotonic() - orphaned_at > ORPHAN_SECONDS:
            break
        else:
            time.sleep(pause)
    follower.close()
    if orphaned_at is not None:
        os.kill(broker, signal.SIGTERM)


if __name__ == "__main__":
    try:
        main()
    except (StreamsError, OSError) as error:
        logger.critical("the journal is not written any more: %s", error)
        raise SystemExit(1) from None
