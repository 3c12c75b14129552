"""Runs `sager webhooks`: a consumer of slim skills for each endpoint."""

import asyncio
import logging
import signal
import threading
import time
from collections.abc import Sequence

from confluent_kafka import Consumer

from schemas import SlimSkill
from streams import shutdown
from streams.kafka.clients import client_config
from streams.settings import Settings
from streams.webhooks.delivery import Delivery, Reader
from streams.webhooks.endpoints import Endpoint
from streams.webhooks.messages import new_session

TURN_SECONDS = 1.0
STUCK_SECONDS = 60.0

log = logging.getLogger("sager.webhooks")


class WebhooksHealth:
    """The health of the process. `down` has the names of endpoints that accept no messages."""

    def __init__(self) -> None:
        self.doing, self.turned_at, self.is_ending = "looking for Kafka and its topics", time.monotonic(), False
        self.down: frozenset[str] = frozenset()

    def why_not_live(self) -> list[str]:
        """Return why the process should be restarted; an endpoint that is down is no reason."""
        still = time.monotonic() - self.turned_at
        return [f"nothing was read for {still:.0f} s"] if still > STUCK_SECONDS and not self.doing else []

    def why_not_ready(self) -> list[str]:
        """Return why messages do not arrive."""
        reasons = ["shutting down"] if self.is_ending else []
        reasons += [self.doing] if self.doing else []
        return reasons + [f"the endpoint {name} does not take messages" for name in sorted(self.down)]


class Webhooks:
    """The process, which updates its health."""

    def __init__(self, settings: Settings, health: WebhooksHealth) -> None:
        self._settings, self._health = settings, health
        self._topic = settings.topic(SlimSkill.TOPIC)
        self._stop = threading.Event()

    async def run(self, endpoints: Sequence[Endpoint]) -> None:
        """Deliver until SIGTERM or SIGINT."""
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, self._end)
        readers = [self._reader(each) for each in endpoints]
        try:
            async with new_session() as session:
                deliveries = []
                for endpoint, reader in zip(endpoints, readers, strict=True):
                    deliveries.append(Delivery(endpoint, session, reader))
                    deliveries[-1].start(*await asyncio.to_thread(reader.progress, self._stop))
                tasks = [asyncio.create_task(each.run()) for each in deliveries]
                log.info("posting slim skills to %s endpoints", len(tasks))
                self._health.doing = ""
                while not self._stop.is_set():
                    self._health.turned_at = time.monotonic()
                    self._health.down = frozenset(each.endpoint.name for each in deliveries if each.is_down)
                    for each in deliveries:
                        each.measure()
                    await asyncio.sleep(TURN_SECONDS)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                await asyncio.gather(*(each.commit() for each in deliveries), return_exceptions=True)
        finally:
            for reader in readers:
                await asyncio.to_thread(reader.close)

    def _reader(self, endpoint: Endpoint) -> Reader:
        # No consumer joins the group, so one process at a time may run.
        more = {
            "group.id": f"{self._settings.app_id}-webhooks-{endpoint.name}",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "queued.max.messages.kbytes": 4_096,
        }
        return Reader(Consumer(client_config(self._settings, **more)), self._topic)

    def _end(self) -> None:
        shutdown.begin(self._settings.shutdown_seconds)
        self._health.is_ending = True
        self._stop.set()
