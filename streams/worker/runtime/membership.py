"""Fences writes by group membership: a worker that froze writes nothing stale.

A worker that froze for longer than its session has been replaced without knowing it. Kafka refuses its commits but
accepts its records. So the worker writes only if the group confirmed its membership within the session; otherwise it
waits for the next heartbeat. If the group has removed it, it drops the write, and its successor repeats it.

A frozen producer sends its queue when it wakes, so a record expires after `delivery_seconds`, and membership must be
certain for that much longer. One gap is left: a request in the network when the process freezes. Only transactions
would close it; `sager rebuild` finds and repairs its traces.
"""

import asyncio
import time
from typing import Any

POLL_SECONDS = 0.05

# The monotonic clock stops while the machine sleeps, and would extend the session by the sleep.
CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class PartitionRevoked(Exception):
    """The event's partition has moved, so this worker must not write."""


class Interrupted(Exception):
    """The event stops unfinished for a rebalance or shutdown, and comes again."""


class Membership:
    """The worker's membership. The consumer's thread updates it; other threads read it.

    The group removes a member after `session_seconds` without a heartbeat, or after `rebalance_seconds` in a rebalance
    that it has not joined. A record may be under way for `delivery_seconds`.
    """

    def __init__(self, session_seconds: float, rebalance_seconds: float, delivery_seconds: float = 0.0) -> None:
        self._session, self._rebalance, self._delivery = session_seconds, rebalance_seconds, delivery_seconds
        self._confirmed_at = self._settled_at = self.send_until = float("inf")
        self._lost = False

    def confirm(self, asked_at: float, *, rebalancing: bool = False) -> None:
        """Record that the group confirmed a request sent at this time."""
        self._confirmed_at, self._lost = asked_at, False
        if not rebalancing:
            self._settled_at = asked_at
        self.send_until = min(asked_at + self._session, self._settled_at + self._rebalance) - self._delivery

    def lose(self) -> None:
        """Record that the group has removed the worker, until it joins again."""
        self._lost, self.send_until = True, float("-inf")

    @property
    def is_sure(self) -> bool:
        """True if no other worker can own our partitions yet."""
        return now() - self._delivery < self.send_until

    @property
    def may_send(self) -> bool:
        """True if no other worker owns our partitions until a send ends."""
        return now() < self.send_until

    @property
    def _is_overdue(self) -> bool:
        # The rebalance would exclude this worker before a send could complete.
        at = now() + self._delivery
        return at - self._confirmed_at < self._session and at - self._settled_at >= self._rebalance

    async def wait_until_sendable(self) -> bool:
        """Wait until a send is allowed; return false if membership is lost."""
        # A rebalance waits for running events. On a broker that removes no member, an event that waited for the end of
        # the rebalance would wait for ever.
        while not self.may_send:
            if self._lost or self._is_overdue:
                return False
            await asyncio.sleep(POLL_SECONDS)
        return True


def now() -> float:
    """Return seconds on a clock that also counts sleep of the machine."""
    return time.clock_gettime(CLOCK)


def watch(consumer: Any, membership: Membership) -> None:
    """Report the heartbeats and joins of a started aiokafka consumer to `membership`."""
    coordinator = consumer._coordinator
    beat, rejoin, reset = coordinator._do_heartbeat, coordinator._do_rejoin_group, coordinator.reset_generation

    async def do_heartbeat() -> bool:
        asked_at = now()
        is_member: bool = await beat()
        if is_member:
            membership.confirm(asked_at, rebalancing=coordinator._rejoin_needed_fut.done())
        return is_member

    async def do_rejoin_group(subscription: Any) -> bool:
        has_joined: bool = await rejoin(subscription)
        if has_joined:
            membership.confirm(now())
        return has_joined

    def reset_generation() -> None:
        reset()
        membership.lose()

    coordinator._do_heartbeat = do_heartbeat
    coordinator._do_rejoin_group = do_rejoin_group
    coordinator.reset_generation = reset_generation
