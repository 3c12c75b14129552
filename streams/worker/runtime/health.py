"""Liveness and readiness of a worker: its event loop, its group membership, its watchdog."""

import asyncio
import threading
import time
from collections.abc import Hashable
from typing import Any

from streams.worker import metrics
from streams.worker.runtime.watchdog import BEAT_SECONDS

LOOP_SECONDS = 30.0
"""An event loop that has not turned for so long answers no heartbeat, no signal and no event."""


def standing_of(app: Any) -> Hashable:
    """Return a value that changes with every step of a worker's rebalance or table recovery."""
    recovery = getattr(app.tables, "_recovery", None)
    # Copied at once: the event loop's thread goes on while the watchdog's reads.
    recovered = sum(list(recovery.active_offsets.values())) if recovery is not None else 0
    settled = bool(app.rebalancing), bool(app.tables.actives_ready), bool(app.flow_control.is_active())
    return app.consumer_generation_id, settled, recovered, frozenset(app.consumer.assignment())


class WorkerHealth:
    """Updated by the worker as it starts and stops; read by the HTTP server's threads."""

    def __init__(self, loop_seconds: float = LOOP_SECONDS) -> None:
        self._loop_seconds = loop_seconds
        self._doing = "starting"
        self._is_ending = False
        self._app: Any = None
        self._guard: threading.Thread | None = None
        self._beat_at: float | None = None
        self.beats = 0

    def starts(self, doing: str) -> None:
        """Set the worker's activity before it joins its group."""
        self._doing = doing

    def runs(self, app: Any) -> None:
        """Note that the worker is about to join its group."""
        self._app, self._doing = app, ""

    def ends(self) -> None:
        """Note that shutdown has begun."""
        self._is_ending = True

    def guarded_by(self, watchdog: threading.Thread) -> None:
        """Set the running watchdog; its thread ends only if the worker is stuck or the watchdog has failed."""
        self._guard = watchdog

    def beat(self, loop: asyncio.AbstractEventLoop) -> None:
        """Measure the event loop's delay every second from now on."""
        now = time.monotonic()
        if self._beat_at is not None:
            metrics.LOOP_DELAY.observe(max(0.0, now - self._beat_at - BEAT_SECONDS))
        self._beat_at = now
        self.beats += 1
        loop.call_later(BEAT_SECONDS, self.beat, loop)

    def why_not_live(self) -> list[str]:
        """Return reasons to restart this worker; none if it is live."""
        reasons = []
        if self._beat_at is not None and (still := time.monotonic() - self._beat_at) > self._loop_seconds:
            reasons.append(f"the event loop has not turned for {still:.0f} s")
        if self._guard is not None and not self._guard.is_alive():
            reasons.append("the watchdog has ended: it found the worker stuck, or cannot find that any more")
        return reasons

    def why_not_ready(self) -> list[str]:
        """Return reasons why it processes no events; none if it is ready."""
        reasons = self.why_not_live()
        if self._is_ending:
            reasons.append("shutting down")
        if self._doing:
            reasons.append(self._doing)
        if self._app is None:
            return reasons
        app = self._app
        if not app.rebalancing_count:
            reasons.append("waiting for the group to let it in")
        elif app.rebalancing or not app.tables.actives_ready:
            reasons.append("the group rebalances, or tables are being recovered")
        if not app.membership.is_sure:
            reasons.append("the group has not confirmed this worker for a while: does a broker answer?")
        return reasons
