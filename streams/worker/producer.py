"""Sends a worker's records: checks the fence before each attempt, and repeats it until the broker has the record."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from faust.types import TP

from schemas.topics import TOPICS
from streams.kafka.clients import partition_of
from streams.settings import Settings
from streams.worker import metrics
from streams.worker.runtime.membership import Membership
from streams.worker.runtime.ordered import Stale
from streams.worker.runtime.outlet import Delivered, Full, MessageSizeTooLarge, Outlet

logger = logging.getLogger("sager.worker")

FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS, FULL_SECONDS = 0.2, 10.0, 0.01

_Result = TypeVar("_Result")


class Producer:
    """All sends of a worker."""

    def __init__(self, app: Any, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self.outlet = Outlet(settings)
        self.partitions = settings.partitions

    def generation(self) -> int:
        """Return the consumer generation, which changes with every rebalance."""
        return int(self._app.consumer_generation_id)

    async def send(
        self,
        event: Any,
        base: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None = None,
        is_logged: Callable[[], Awaitable[bool]] | None = None,
    ) -> Delivered:
        """Produce a record, or a tombstone, on the topic `base`, and wait through outages until the broker has it.

        `partition` is by default that of the key. `is_logged`, for a record that must not be in the log twice, is
        called before another attempt: true if the log has it already. Raises as `retry` does.
        """
        if partition is None:
            partition = partition_of((key or b"").decode(), TOPICS[base].partitions(self.partitions))
        topic, has_tried = self._settings.topic(base), False

        async def attempt() -> Delivered:
            nonlocal has_tried
            if has_tried and is_logged is not None and await is_logged():
                return Delivered(TP(topic, partition), 0)
            sending = self.outlet.send(topic, partition, key, value)
            has_tried = True
            return await sending

        sent = await self.retry(event, base, attempt)
        metrics.labelled(metrics.SENT, base).inc()
        return sent

    async def retry(self, event: Any, purpose: str, attempt: Callable[[], Awaitable[_Result]]) -> _Result:
        """Return the result of an attempt that needs the broker, repeated while it fails.

        Raises Stale if the event's partition has moved, and MessageSizeTooLarge if the topic takes no such record.
        """
        delay = FIRST_RETRY_SECONDS
        while True:
            # Only while the partition is certainly ours.
            member: Membership = self._app.membership
            if not (member.may_send or await member.confirmed()) or event.message.generation_id != self.generation():
                raise Stale
            try:
                return await attempt()
            except MessageSizeTooLarge:
                raise
            except Full:
                await asyncio.sleep(FULL_SECONDS)
            except Exception as error:
                logger.warning("%s failed, again in %.1f s: %s", purpose, delay, error)
                await asyncio.sleep(delay)
                delay = min(2 * delay, LAST_RETRY_SECONDS)
