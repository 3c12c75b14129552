"""Ends a worker that has lag without progress, and reports its health.

Faust can stop fetching silently (aiokafka #625, #720, #1187; faust-streaming #175, #594). The watchdog reads the lag
with its own client, so that it does not depend on the consumer that it watches.
"""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Hashable
from itertools import count
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from schemas.topics import CONSUMED_TOPICS
from streams.kafka.clients import client_config
from streams.kafka.consumer_group import lag
from streams.settings import Settings
from streams.shutdown import EXIT_CODE
from streams.worker import metrics

logger = logging.getLogger("sager.watchdog")

# Interval of the event loop's heartbeat on an idle machine.
BEAT_SECONDS = 1.0
# A blocked event loop sends no heartbeat and handles no signal; a long garbage collection takes less.
LOOP_SECONDS = 30.0


class StallDetector:
    """Measures how long a state has not changed while the worker ran.

    The clock is the event loop's heartbeat, so that a busy machine does not count as a stall. If a handler blocks the
    loop, the watchdog's own checks are counted, at most `look_seconds` each.

    >>> stall = StallDetector(seconds=2, look_seconds=1)
    >>> [stall.has_expired("same", now=float(at), beats=at) for at in range(4)]
    [False, False, True, True]
    >>> stall.has_expired("other", now=4, beats=4)
    False
    """

    def __init__(self, seconds: float, look_seconds: float) -> None:
        self._seconds, self._look_seconds = seconds, look_seconds
        self._last: tuple[Hashable, float, int] | None = None
        self._stalled = self._unbeaten = 0.0

    def renew(self) -> None:
        """Reset: there is no lag, or it is unknown."""
        self._last = None
        self._stalled = self._unbeaten = 0.0

    def has_expired(self, state: Hashable, now: float, beats: int) -> bool:
        """Return true if `state` has been the same for too long."""
        if self._last is None or self._last[0] != state:
            self.renew()
            self._last = (state, now, beats)
            return False
        _, before, beaten = self._last
        self._last = (state, now, beats)
        if beats > beaten:
            self._stalled += min(now - before, (beats - beaten) * BEAT_SECONDS)
            self._unbeaten = 0.0
        else:
            self._unbeaten += min(now - before, self._look_seconds)
        return max(self._stalled, self._unbeaten) >= self._seconds


class Watchdog(threading.Thread):
    """Ends the process after `settings.watchdog_seconds` of lag without progress.

    `progressed` returns when an event was last finished (monotonic seconds), `state` the state of the group membership
    and the recovery, `beats` the number of heartbeats of the event loop. `end` is called with exit code 70, which makes
    a supervisor restart the process.
    """

    def __init__(
        self,
        settings: Settings,
        progressed: Callable[[], float],
        assigned: Callable[[], set[tuple[str, int]]],
        end: Callable[[int], None] = os._exit,
        state: Callable[[], Hashable] = lambda: None,
        beats: Callable[[], int] | None = None,
    ) -> None:
        super().__init__(name="watchdog", daemon=True)
        self._settings, self._end = settings, end
        self._progressed, self._assigned, self._state = progressed, assigned, state
        self._beats = beats or count().__next__
        self._client = AdminClient(client_config(settings))
        self._pause = min(10.0, settings.watchdog_seconds / 4)
        self._stall = StallDetector(settings.watchdog_seconds, self._pause)
        for base in CONSUMED_TOPICS:
            metrics.LAG.labels(base)

    def run(self) -> None:
        """Check every few seconds until the process ends."""
        while not self.is_stuck():
            time.sleep(self._pause)
        logger.critical(
            "no event finished for %.0f s although records wait: exiting, so that a new process takes over",
            self._settings.watchdog_seconds,
        )
        self._end(EXIT_CODE)

    def is_stuck(self) -> bool:
        """Return true if records have waited too long without progress."""
        # The time since the last progress does not decide: an idle worker may get its first record in hours.
        before = self._state(), self._progressed()
        try:
            waiting = lag(self._settings, self._client)
        except (KafkaException, TimeoutError) as error:
            # A worker that waits for Kafka to come back is not stuck.
            logger.warning("cannot read the lag: %s", str(error) or "no answer in time")
            self._stall.renew()
            # librdkafka's admin client keeps requesting from a former leader: FENCED_LEADER_EPOCH, for ever.
            self._client = AdminClient(client_config(self._settings))
            return False
        assigned = self._assigned()
        ours = {tp: records for tp, records in waiting.items() if (tp.topic, tp.partition) in assigned}
        for base in CONSUMED_TOPICS:
            topic = self._settings.topic(base)
            metrics.LAG.labels(base).set(sum(records for tp, records in ours.items() if tp.topic == topic))
        if not any(ours.values()):
            self._stall.renew()
            return False
        committed = frozenset((tp.topic, tp.partition, tp.offset) for tp in ours)
        now = self._state(), self._progressed()
        if now != before:  # progress during the request
            self._stall.renew()
        return self._stall.has_expired((now, committed), time.monotonic(), self._beats())


def recovery_state(app: Any) -> Hashable:
    """Return a value that changes while a rebalance or recovery progresses."""
    recovery = getattr(app.tables, "_recovery", None)
    # `list` copies at once: the event loop's thread changes the dictionary meanwhile.
    recovered = sum(list(recovery.active_offsets.values())) if recovery is not None else 0
    settled = bool(app.rebalancing), bool(app.tables.actives_ready), bool(app.flow_control.is_active())
    return app.consumer_generation_id, settled, recovered, frozenset(app.consumer.assignment())


class WorkerHealth:
    """Liveness and readiness of a worker, for the HTTP server's threads."""

    def __init__(self, loop_seconds: float = LOOP_SECONDS) -> None:
        self._loop_seconds = loop_seconds
        # The current step of the start; empty once the app is about to join its group.
        self.step = "starting"
        self.is_ending = False
        self.app: Any = None
        self.watchdog: threading.Thread | None = None
        self._beat_at: float | None = None
        self.beats = 0

    def start_heartbeat(self, loop: asyncio.AbstractEventLoop) -> None:
        """Measure the delay of the event loop every second from now on."""
        now = time.monotonic()
        if self._beat_at is not None:
            metrics.LOOP_DELAY.observe(max(0.0, now - self._beat_at - BEAT_SECONDS))
        self._beat_at = now
        self.beats += 1
        loop.call_later(BEAT_SECONDS, self.start_heartbeat, loop)

    def why_not_live(self) -> list[str]:
        """Return reasons to restart this worker."""
        reasons = []
        if self._beat_at is not None and (still := time.monotonic() - self._beat_at) > self._loop_seconds:
            reasons.append(f"the event loop has not turned for {still:.0f} s")
        if self.watchdog is not None and not self.watchdog.is_alive():
            reasons.append("the watchdog has ended: the worker is stuck, or the watchdog failed")
        return reasons

    def why_not_ready(self) -> list[str]:
        """Return reasons why this worker processes no events."""
        app, reasons = self.app, {"shutting down": self.is_ending, self.step: self.step}
        if app is not None:
            has_joined, is_member = app.rebalancing_count > 0, app.membership.is_sure
            is_recovering = has_joined and (app.rebalancing or not app.tables.actives_ready)
            reasons["waiting to join the group"] = not has_joined
            reasons["the group is rebalancing, or tables are being recovered"] = is_recovering
            reasons["the group has not confirmed this worker's membership: does a broker answer?"] = not is_member
        return [*self.why_not_live(), *(reason for reason, holds in reasons.items() if holds)]
