"""Feed a shadow deployment: copy what apps and users send to the live one, for a share of the users.

A shadow is an ordinary deployment with its own prefix and settings. Nothing flows back to the live one. Requests to
forget are copied too, so that an erasure reaches the shadow.
"""

import logging
import signal
import threading
from hashlib import blake2b

from confluent_kafka import Consumer

from schemas.topics import FROM_APPS, TOPICS, Key
from streams.kafka.clients import client_config
from streams.kafka.producer import Outbox
from streams.settings import Settings

COPIED = (
    *(base for base in FROM_APPS if base != "rank-requests"),  # a shadow ranks for no app
    *("skill-commands", "card-commands", "forget-requests", "global-skills"),
)
BATCH, POLL_SECONDS, FLUSH_SECONDS = 1_000, 0.5, 60.0

log = logging.getLogger("sager.shadow")


def mirror(settings: Settings, live_prefix: str, share: float, stop: threading.Event) -> int:
    """Copy records until `stop` is set; return how many.

    Offsets are committed after Kafka has acknowledged the copies. A crash repeats some, which workers count once.

    Args:
        settings: the shadow deployment.
        live_prefix: the prefix of the live deployment.
        share: the share of users to copy; items and global skills are copied whole.
        stop: ends the loop.

    Raises:
        NotProduced: the broker did not accept the copies.
    """
    group = {"group.id": f"{settings.app_id}-mirror", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    consumer, outbox, copied = Consumer(client_config(settings, **group)), Outbox(settings), 0
    consumer.subscribe([live_prefix + base for base in COPIED])
    try:
        while not stop.is_set():
            batch = [each for each in consumer.consume(BATCH, POLL_SECONDS) if each.error() is None]
            for message in batch:
                base = str(message.topic()).removeprefix(live_prefix)
                if TOPICS[base].key is not Key.USER or in_share(message.key() or b"", share):
                    outbox.send(settings.topic(base), message.key(), message.value())
                    copied += 1
            if batch:
                outbox.flush(FLUSH_SECONDS, "copies")
                consumer.commit(asynchronous=False)
                log.info("%s records copied", f"{copied:,}")
    finally:
        consumer.close()
    return copied


def run(settings: Settings, live_prefix: str, share: float) -> int:
    """Copy records until SIGTERM or SIGINT; return how many."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return mirror(settings, live_prefix, share, stop)


def in_share(key: bytes, share: float) -> bool:
    """Draw users by a hash of their ids: whoever is in a share is also in every larger one.

    >>> in_share(b"ann", 1.0), in_share(b"ann", 0.0)
    (True, False)
    """
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "big") < share * 2**64
