"""Recovery of tables: records of their changelogs go from a fetch straight into the stores, in batches.

Faust makes a message and an event of each record, and passes them through two queues: 180 us a record, and 4 this way.
Faust still decides on assignment, start offsets and the end of recovery.

A record is applied while its partition is this worker's, active or standby, even if the flow has stopped meanwhile: the
next fetch goes on behind it. Records that are fetched twice are skipped by their offset.
"""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from faust.tables.manager import TableManager
from faust.tables.recovery import Recovery
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from streams.worker import metrics

logger = logging.getLogger("sager.worker")

LOG_EVERY_SECONDS = 2.0

Records = Mapping[TP, Sequence[Any]]


class QuietRecovery(Recovery):
    """Recovery in batches; by repair 1 it fetches no records between its end and the clearing of the queues."""

    _assigned_at = 0.0
    _first_at = 0.0
    _logged_at = 0.0
    _total = 0
    _absorbed = 0

    async def on_rebalance(self, *args: Any, **kwargs: Any) -> None:
        """Record when partitions were assigned, then let Faust recover their tables."""
        self._assigned_at = time.monotonic()
        self._total = self._absorbed = 0
        metrics.REBALANCES.inc()
        await super().on_rebalance(*args, **kwargs)

    def _set_recovery_started(self) -> None:
        """Reset the signal of the last recovery's end, which Faust resets only with a record that it reads itself."""
        self.signal_recovery_end.clear()
        super()._set_recovery_started()

    async def absorb(self, changes: Records) -> None:
        """Apply records of changelogs to their tables' stores; skip those of others' partitions."""
        if not self._absorbed:
            self._first_at = time.monotonic()
        for tp, records in changes.items():
            if tp in self.active_tps:
                offsets, received_at = self.active_offsets, self._active_events_received_at
            elif tp in self.standby_tps:
                offsets, received_at = self.standby_offsets, self._standby_events_received_at
            else:
                continue
            received_at[tp] = time.monotonic()
            seen = offsets.get(tp)
            new = records if seen is None or records[0].offset > seen else [r for r in records if r.offset > seen]
            if new and self.tp_to_table[tp].absorb(tp, new):
                offsets[tp] = new[-1].offset
                self._absorbed += len(new)
            await asyncio.sleep(0)
        self._last_flush_at = time.monotonic()
        if self.in_recovery:
            if self.need_recovery():
                self._log_progress()
            else:
                self.flush_buffers()  # of a user's own tables
                self._set_recovery_ended()
                self.signal_recovery_end.set()
        if not self.tables.standbys_ready and not self.standby_remaining_total():
            self.tables.on_standbys_ready()

    async def on_recovery_completed(self, generation_id: int = 0) -> None:
        """Stop the flow, then let Faust resume it at the committed offsets."""
        if self._absorbed:
            seconds = time.monotonic() - self._first_at
            logger.info("tables recovered: %s records in %.1f s", f"{self._absorbed:,}", seconds)
        self.app.consumer.stop_flow()
        self.app.flow_control.suspend()
        await super().on_recovery_completed(generation_id)
        metrics.RECOVERY_SECONDS.observe(time.monotonic() - self._assigned_at)

    def _log_progress(self) -> None:
        """Log the progress of recovery now and then."""
        now, left = time.monotonic(), self.active_remaining_total()
        if not self._total:
            self._total, self._logged_at = left, now
        elif now - self._logged_at >= LOG_EVERY_SECONDS and left < self._total:
            self._logged_at = now
            seconds = (now - self._first_at) * left / (self._total - left)
            logger.info("recovering tables: %.0f%%, some %.0f s left", 100 * (1 - left / self._total), seconds)


class QuietTableManager(TableManager):
    """The table manager that recovers by `QuietRecovery`."""

    _recovery: Recovery | None

    @property
    def recovery(self) -> Recovery:
        """The recovery service, made on first use."""
        if self._recovery is None:
            self._recovery = QuietRecovery(self.app, self, beacon=self.beacon, loop=self.loop)
        return self._recovery


class AbsorbingConsumer(driver.Consumer):
    """A consumer whose fetches pass changelog records of our tables to the recovery, and return only the others."""

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> Records:  # noqa: ASYNC109 - Faust's
        records: Records = await super()._getmany(active_partitions, timeout)
        tables = self.app.tables._changelogs
        # A user's own table is recovered Faust's way: it knows how to decode its keys and values.
        changes = {tp: batch for tp, batch in records.items() if batch and hasattr(tables.get(tp.topic), "absorb")}
        if not changes:
            return records
        await self.app.tables.recovery.absorb(changes)
        return {tp: batch for tp, batch in records.items() if tp not in changes}
