"""Kafka's own events and the workers' lag, for imports that can be repeated and do not run ahead."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import orjson
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from streams.exceptions import StreamsError
from streams.kafka.clients import client_config
from streams.kafka.scanner import Scanner
from streams.settings import Settings
from streams.worker.runtime.watchdog import lag

IDLE_SECONDS = 30.0


class NoWorker(StreamsError, RuntimeError):
    """No worker consumes the events that were sent."""


def held_ids(settings: Settings, base: str) -> set[str]:
    """Return the event ids of all records on a topic.

    Raises:
        BrokerUnreachable: the topic could not be read to its end.
    """
    with Scanner(settings) as scanner:
        found = set()
        for message in scanner.read(scanner.partitions(base)):
            with suppress(orjson.JSONDecodeError, KeyError, TypeError):
                found.add(str(orjson.loads(message.value() or b"{}")["event_id"]))
        return found


def wait_for_workers(settings: Settings, bases: Sequence[str], tell: Callable[[int], None] = lambda left: None) -> None:
    """Wait until the workers have consumed everything on these topics; `tell` receives the number left.

    Raises:
        NoWorker: the number left has not fallen for half a minute.
    """
    client = AdminClient(client_config(settings))
    least, last = None, time.monotonic()
    while True:
        try:
            left = sum(lag(settings, client, bases).values())
        except KafkaException:
            left = least or 1
        if not left:
            return
        tell(left)
        if least is None or left < least:
            least, last = left, time.monotonic()
        elif time.monotonic() - last > IDLE_SECONDS:
            raise NoWorker(
                f"{left} events on {' and '.join(bases)} wait, and no worker consumes them: is `sager worker` running? "
                "Import again when it is: no event is sent twice"
            )
        time.sleep(0.3)
