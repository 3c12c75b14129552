"""Group membership as a fence: a frozen worker that comes back must write nothing stale.

A worker that stood still for longer than its session (a paused machine, a lost network) has been replaced without
knowing it. Kafka refuses its commits, but not what it produces: in the second until its next heartbeat is refused it
would write skills that its successor has evolved already. So nothing is written unless the group has confirmed the
membership within the session; where it has not, the next heartbeat's answer is waited for, and if the group has
forgotten us, what was about to be written is dropped. The successor does it again.

What is sent may be under way for a while, and a producer that was frozen sends what it holds when it wakes. So it is
given up after `delivery_seconds`, and membership has to be certain for that much longer: the lease covers the way too.
This closes the gap down to a request that is in the network when the process freezes. Only transactions would close
that too; what may remain, `sager rebuild` finds in the log and mends.
"""

import asyncio
import time
from typing import Any

LOOK_AGAIN_SECONDS = 0.05

# Unlike the monotonic clock it goes on while the machine sleeps.
CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class PartitionRevoked(Exception):
    """The event's partition has moved: another worker processes it, and this one must not write."""


class Interrupted(Exception):
    """The event is unfinished, although its partition has not moved yet: it comes again, here or elsewhere."""


class Membership:
    """What is known of our membership. Updated by the consumer's thread, read by the others.

    The group forgets a member after `session_seconds` without a heartbeat, and goes on after `rebalance_seconds`
    without one that has not joined a rebalance. `delivery_seconds` is how long what is sent may be under way.
    """

    def __init__(self, session_seconds: float, rebalance_seconds: float, delivery_seconds: float = 0.0) -> None:
        self._session, self._rebalance, self._delivery = session_seconds, rebalance_seconds, delivery_seconds
        self._confirmed_at = self._settled_at = self.send_until = float("inf")
        self._lost = False

    def confirm(self, asked_at: float, *, rebalancing: bool = False) -> None:
        """The group confirmed a request that was sent at that time, perhaps during a rebalance."""
        self._confirmed_at, self._lost = asked_at, False
        if not rebalancing:
            self._settled_at = asked_at
        self.send_until = min(asked_at + self._session, self._settled_at + self._rebalance) - self._delivery

    def lose(self) -> None:
        """The group has removed us; we are no member until we join again."""
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
        """True if the group confirms us still, in a rebalance that goes on without us soon."""
        at = now() + self._delivery
        return at - self._confirmed_at < self._session and at - self._settled_at >= self._rebalance

    async def confirmed(self) -> bool:
        """Wait until something may be sent; false if the group has removed us, or may at any moment.

        A rebalance waits for what is under way. What is not done when it has lasted too long must be given up: waiting
        for a rebalance that waits for us would never end where the broker removes nobody.
        """
        while not self.may_send:
            if self._lost or self._is_overdue:
                return False
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        return True


def now() -> float:
    """Seconds on a clock that counts pauses of the process and sleep of the machine."""
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
