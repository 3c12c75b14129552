"""Group membership as a fence: a frozen worker that resumes writes nothing stale.

A worker that stood still for longer than its session (a paused machine, a lost network) has been replaced, and cannot
know it. Kafka refuses its commits, but accepts its records: until its next heartbeat is refused, it would write skills
that its successor has evolved already. So the worker writes only if the group has confirmed its membership within the
session. Otherwise it waits for the next heartbeat's answer. If the group has removed the worker, the worker drops the
write, and the successor repeats it.

A record may be under way for a while, and a producer that was frozen sends its queue when it wakes. So the producer
gives a record up after `delivery_seconds`, and membership has to be certain for that much longer. One gap is left: a
request that is in the network when the process freezes. Only transactions would close it; `sager rebuild` finds its
traces in the log and repairs them.
"""

import asyncio
import time
from typing import Any

POLL_SECONDS = 0.05

# Unlike the monotonic clock it goes on while the machine sleeps.
CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class PartitionRevoked(Exception):
    """The event's partition has moved: another worker processes it, and this one must not write."""


class Interrupted(Exception):
    """The event is unfinished, although its partition has not moved yet: it comes again, here or elsewhere."""


class Membership:
    """The worker's membership. The consumer's thread updates it; other threads read it.

    The group forgets a member after `session_seconds` without a heartbeat, and goes on after `rebalance_seconds`
    without one that has not joined a rebalance. `delivery_seconds` is how long a record may be under way.
    """

    def __init__(self, session_seconds: float, rebalance_seconds: float, delivery_seconds: float = 0.0) -> None:
        self._session, self._rebalance, self._delivery = session_seconds, rebalance_seconds, delivery_seconds
        self._confirmed_at = self._settled_at = self.send_until = float("inf")
        self._lost = False

    def confirm(self, asked_at: float, *, rebalancing: bool = False) -> None:
        """Note that the group confirmed a request of that time, perhaps during a rebalance."""
        self._confirmed_at, self._lost = asked_at, False
        if not rebalancing:
            self._settled_at = asked_at
        self.send_until = min(asked_at + self._session, self._settled_at + self._rebalance) - self._delivery

    def lose(self) -> None:
        """Note that the group has removed the worker, until it joins again."""
        self._lost, self.send_until = True, float("-inf")

    @property
    def is_sure(self) -> bool:
        """True if no other worker can have taken our place."""
        return now() - self._delivery < self.send_until

    @property
    def may_send(self) -> bool:
        """True if no other worker can take our place before a send has arrived or is given up."""
        return now() < self.send_until

    @property
    def _is_overdue(self) -> bool:
        # The rebalance would exclude this worker before a send could complete.
        at = now() + self._delivery
        return at - self._confirmed_at < self._session and at - self._settled_at >= self._rebalance

    async def wait_confirmed(self) -> bool:
        """Wait until a send is allowed; false if the group has removed us, or may at any moment.

        A rebalance waits for running events. An event that is unfinished when the rebalance has lasted too long must be
        given up: the two would wait for each other for ever on a broker that removes no member.
        """
        while not self.may_send:
            if self._lost or self._is_overdue:
                return False
            await asyncio.sleep(POLL_SECONDS)
        return True


def now() -> float:
    """Return seconds on a clock that counts pauses of the process and sleep of the machine."""
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
