"""Common settings of Kafka clients, reaching a cluster, and the partition of a user (invariant 11)."""

import logging
import time
from typing import Any

from aiokafka.partitioner import murmur2
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata

from streams.exceptions import KafkaRefused, KafkaUnreachable
from streams.kafka.security import librdkafka_security
from streams.settings import Settings

# librdkafka's name for Java's partitioner; its own default, CRC32, would break the joins.
PARTITIONER = "murmur2_random"
# Time for another broker to accept the connection after the first one refused it.
SECOND_CHANCE_SECONDS = 2.0
# Errors that a retry cannot fix, with advice.
REFUSALS = {
    KafkaError._AUTHENTICATION: "check SAGER_KAFKA_SASL_USERNAME, SAGER_KAFKA_SASL_PASSWORD and "
    "SAGER_KAFKA_SASL_MECHANISM",
    KafkaError._SSL: "check SAGER_KAFKA_SSL_CA, which must hold the authority that signed the brokers' certificates, "
    "the host names in SAGER_BOOTSTRAP, which these must contain, and SAGER_KAFKA_SECURITY_PROTOCOL",
}

logger = logging.getLogger("sager.kafka")


def partition_of(user_id: str, partitions: int) -> int:
    """Return the partition of all of a user's events, as every murmur2 client finds it.

    >>> partition_of("ann", 4)
    2
    """
    return int(murmur2(user_id.encode()) & 0x7FFFFFFF) % partitions


def client_config(settings: Settings, **more: Any) -> dict[str, Any]:
    """Return librdkafka settings shared by all clients, and `more`. They contain secrets: never log them."""
    return {
        "bootstrap.servers": settings.bootstrap,
        "socket.keepalive.enable": True,
        "log_level": 2,  # librdkafka logs every lost connection to stderr
        **librdkafka_security(settings),
        **more,
    }


def unused_group(name: str) -> str:
    """Return the group name that librdkafka requires of a consumer that joins no group."""
    return f"sager-{name}-unused"


def no_group(name: str) -> dict[str, Any]:
    """Return settings of a consumer that joins no group and commits nothing."""
    return {"group.id": unused_group(name), "enable.auto.commit": False}


def reach(settings: Settings, seconds: float) -> tuple[AdminClient, ClusterMetadata]:
    """Return an admin client, and the cluster's metadata.

    Raises:
        KafkaRefused: the TLS or SASL handshake failed; raised some seconds after the first refusal.
        KafkaUnreachable: no broker answers within `seconds`.
    """
    errors: list[KafkaError] = []
    client = AdminClient(client_config(settings, error_cb=errors.append))
    give_up, slice_seconds = time.monotonic() + seconds, 1.0
    refused: KafkaError | None = None
    while True:
        try:
            return client, client.list_topics(timeout=min(slice_seconds, max(0.1, give_up - time.monotonic())))
        except KafkaException as error:
            last = error.args[0]
        slice_seconds *= 2
        client.poll(0)  # calls `error_cb`
        if refused is None and (refused := next((e for e in errors if e.code() in REFUSALS), None)):
            give_up = min(give_up, time.monotonic() + SECOND_CHANCE_SECONDS)
        if time.monotonic() >= give_up:
            specific = [error for error in errors if error.code() != KafkaError._ALL_BROKERS_DOWN]
            raise _unreachable(settings, refused or next(reversed(specific), last), seconds)


def _unreachable(settings: Settings, why: KafkaError, seconds: float) -> KafkaUnreachable:
    advice = REFUSALS.get(why.code())
    if advice:
        return KafkaRefused(f"Kafka at {settings.bootstrap} refuses the connection: {why.str()}. What to do: {advice}")
    if settings.embedded:
        return KafkaUnreachable(
            f"the embedded broker at {settings.bootstrap} does not answer within {seconds:.0f} s ({why.str()}). It "
            f"runs as long as `sager up` or `sager demo`; its log is {settings.data_dir / 'logs' / 'broker.log'}"
        )
    return KafkaUnreachable(
        f"cannot reach Kafka at {settings.bootstrap} within {seconds:.0f} s ({why.str()}). Is it running, and are "
        "SAGER_BOOTSTRAP and SAGER_KAFKA_SECURITY_PROTOCOL right? `sager up` brings its own"
    )


def producer_config(settings: Settings, **more: Any) -> dict[str, Any]:
    """Return settings of a producer that neither loses nor repeats records, and partitions by murmur2."""
    # One request in flight per broker: otherwise a first request that meets a new leader is retried behind the second,
    # which a broker before KAFKA-15591 takes for the first; the retry counts as a duplicate and is lost.
    own = {
        "partitioner": PARTITIONER,
        "enable.idempotence": True,
        "max.in.flight.requests.per.connection": 1,
        "compression.type": settings.compression.value,
        "linger.ms": 5,
        "message.max.bytes": 4 * 1024 * 1024,
        "error_cb": _log_refusal,
    }
    return client_config(settings, **own | more)


def _log_refusal(error: KafkaError) -> None:
    """Log why brokers refuse the connection, because the producer only retries."""
    if error.code() in REFUSALS:
        logger.error("Kafka refuses the connection: %s. What to do: %s", error.str(), REFUSALS[error.code()])
