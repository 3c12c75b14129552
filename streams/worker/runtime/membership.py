"""Group membership as a fence: a frozen worker that comes back must write nothing stale.

A worker that stood still for longer than its session (a paused machine, a lost network) has been replaced without
knowing it. Kafka refuses its commits, but not what it produces: in the second until its next heartbeat is refused it
would write skills that its successor has evolved already. So nothing is written unless the group has confirmed the
membership within the session; where it has not, the next heartbeat's answer is waited for, and if the group has
forgotten us, what was about to be written is dropped. The successor does it again.

This closes the gap down to the time between the check and the arrival of the request. Only transactions would close
that too; what may remain, `sager rebuild` finds in the log and mends.
"""

import asyncio
import logging
import time
from typing import Any

from aiokafka.errors import KafkaError
from aiokafka.producer.transaction_manager import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, PidAndEpoch

logger = logging.getLogger("sager.worker")

LOOK_AGAIN_SECONDS = 0.05

# Unlike the monotonic clock it goes on while the machine sleeps.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class NoMember(KafkaError):  # type: ignore[misc]
    """The group has forgotten this worker: what it wanted to write is another worker's to write."""


class Membership:
    """What is known of our membership. Updated by the consumer's thread, read by the others.

    Args:
        session_seconds: after so long without a heartbeat the group forgets a member.
        rebalance_seconds: after so long it goes on without a member that has not joined a rebalance.
    """

    def __init__(self, session_seconds: float, rebalance_seconds: float) -> None:
        self._session, self._rebalance = session_seconds, rebalance_seconds
        self._confirmed_at = self._settled_at = float("inf")
        self._lost = False

    def confirm(self, asked_at: float, *, rebalancing: bool = False) -> None:
        """The group confirmed a request that was sent at that time, perhaps during a rebalance."""
        self._confirmed_at, self._lost = asked_at, False
        if not rebalancing:
            self._settled_at = asked_at

    def lose(self) -> None:
        """The group has removed us; we are no member until we join again."""
        self._lost = True

    @property
    def is_sure(self) -> bool:
        """Whether nobody can have taken our place."""
        if self._lost:
            return False
        at = now()
        return at - self._confirmed_at < self._session and at - self._settled_at < self._rebalance

    async def confirmed(self) -> bool:
        """Wait until it is certain; false if the group has removed us."""
        while not self.is_sure:
            if self._lost:
                return False
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
        return True


def now() -> float:
    """Seconds on a clock that counts pauses of the process and sleep of the machine."""
    return time.clock_gettime(_CLOCK)


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


def fence(producer: Any, membership: Membership) -> None:
    """Make an aiokafka producer send requests only while we are a member.

    What waits in the producer when the process freezes would otherwise be sent first thing when it comes back.
    """
    sender = producer._sender
    send = sender._send_produce_req

    async def send_produce_req(node_id: int, batches: Any) -> None:
        if await membership.confirmed():
            await send(node_id, batches)
            return
        logger.warning("no longer a member of the group: %d batches dropped", len(batches))
        for batch in batches.values():
            batch.failure(NoMember())
        _renew(sender._txn_manager)
        sender._in_flight.remove(node_id)
        for partition in batches:
            sender._muted_partitions.remove(partition)

    sender._send_produce_req = send_produce_req


def _renew(idempotence: Any) -> None:
    """Make the producer request a new id: under the old one, the dropped sequence numbers would be missing."""
    if idempotence is not None:
        idempotence._pid_and_epoch = PidAndEpoch(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
        idempotence._pid_waiter = asyncio.get_running_loop().create_future()
        idempotence._sequence_numbers.clear()
