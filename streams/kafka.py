"""Kafka clients' common settings, and the partition of a user (invariant 11)."""

import logging
from typing import Any

from aiokafka.partitioner import murmur2

from streams.settings import Settings

PARTITIONER = "murmur2_random"
"""librdkafka's name for what Java's clients do; its own default is CRC32, which would break the joins."""

logger = logging.getLogger("sager.kafka")


def partition_of(user_id: str, partitions: int) -> int:
    """The partition on which all of a user's events belong, as every murmur2 client finds it.

    >>> partition_of("ann", 4)
    2
    """
    return int(murmur2(user_id.encode()) & 0x7FFFFFFF) % partitions


def client_config(settings: Settings, **more: Any) -> dict[str, Any]:
    """Librdkafka's settings that all our clients share, and those of this one."""
    return {
        "bootstrap.servers": settings.bootstrap,
        "socket.keepalive.enable": True,
        "broker.address.family": "v4" if settings.embedded else "any",
        # librdkafka logs every lost connection to stderr; the application says what matters.
        "log_level": 2,
        **more,
    }


def producer_config(settings: Settings, **more: Any) -> dict[str, Any]:
    """Settings of a producer that loses and repeats nothing and partitions as everybody does.

    One request at a time per broker: with more, a first request that meets a partition before its leader has it is
    tried again behind the second, which a broker before KAFKA-15591 takes for the producer's first; the retry then
    counts as a duplicate, is reported as delivered, and is lost.
    """
    return client_config(
        settings,
        **{
            "partitioner": PARTITIONER,
            "enable.idempotence": True,
            "max.in.flight.requests.per.connection": 1,
            "compression.type": "zstd",
            "linger.ms": 5,
            "message.max.bytes": 4 * 1024 * 1024,
        }
        | more,
    )
