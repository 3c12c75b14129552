"""Common settings of Kafka clients, their security, and reaching a cluster."""

import logging
import ssl
import time
from functools import lru_cache
from typing import Any

from aiokafka.partitioner import murmur2
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata

from streams.exceptions import KafkaRefused, KafkaUnreachable, SecurityMisconfigured
from streams.settings import SecurityProtocol, Settings

# librdkafka's name for Java's partitioner; its own default, CRC32, would break the joins.
PARTITIONER = "murmur2_random"
# One attempt to reach a cluster: long enough for another broker to accept a connection that the first one refused.
ATTEMPT_SECONDS = 3.0
# Errors that a retry cannot fix, with advice.
REFUSALS = {
    KafkaError._AUTHENTICATION: "check SAGER_KAFKA_SASL_USERNAME, SAGER_KAFKA_SASL_PASSWORD and "
    "SAGER_KAFKA_SASL_MECHANISM",
    KafkaError._SSL: "check SAGER_KAFKA_SSL_CA, which must hold the authority that signed the brokers' certificates, "
    "the host names in SAGER_BOOTSTRAP, which these must contain, and SAGER_KAFKA_SECURITY_PROTOCOL",
}

logger = logging.getLogger("sager.kafka")


# Pure Python hashes slowly, and the records of one user follow each other.
@lru_cache(maxsize=16_384)
def partition_of(user_id: str, partitions: int) -> int:
    """Return the partition of a user's events, by murmur2 (invariant 11).

    >>> partition_of("ann", 4)
    2
    """
    return int(murmur2(user_id.encode()) & 0x7FFFFFFF) % partitions


def client_config(settings: Settings, **more: Any) -> dict[str, Any]:
    """Return the shared librdkafka settings, and `more`; they contain secrets."""
    return {
        "bootstrap.servers": settings.bootstrap,
        "socket.keepalive.enable": True,
        "log_level": 2,  # librdkafka logs every lost connection to stderr
        **librdkafka_security(settings),
        **more,
    }


def unused_group(name: str) -> str:
    """Return the group name of a consumer that joins no group."""
    return f"sager-{name}-unused"


def no_group(name: str) -> dict[str, Any]:
    """Return settings of a consumer that joins no group and commits nothing."""
    return {"group.id": unused_group(name), "enable.auto.commit": False}


def reach(settings: Settings, seconds: float) -> tuple[AdminClient, ClusterMetadata]:
    """Return an admin client, and the cluster's metadata.

    Raises:
        KafkaRefused: the TLS or SASL handshake failed; raised after the attempt.
        KafkaUnreachable: no broker answers within `seconds`.
    """
    errors: list[KafkaError] = []
    client = AdminClient(client_config(settings, error_cb=errors.append))
    give_up = time.monotonic() + seconds
    while True:
        try:
            return client, client.list_topics(timeout=min(ATTEMPT_SECONDS, seconds))
        except KafkaException as error:
            last = error.args[0]
        client.poll(0)  # calls `error_cb`
        refused = next((error for error in errors if error.code() in REFUSALS), None)
        if refused or time.monotonic() >= give_up:
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
    """Return settings of a producer that neither loses nor repeats records."""
    # One request in flight per broker: otherwise a first request that meets a new leader is retried behind the second,
    # which a broker before KAFKA-15591 takes for the first; the retry counts as a duplicate and is lost.
    own = {
        "partitioner": PARTITIONER,
        "enable.idempotence": True,
        "max.in.flight.requests.per.connection": 1,
        "compression.type": settings.compression,
        "linger.ms": 5,
        "message.max.bytes": 4 * 1024 * 1024,
        "error_cb": _log_refusal,
    }
    return client_config(settings, **own | more)


def _log_refusal(error: KafkaError) -> None:
    """Log why brokers refuse the connection, because the producer only retries."""
    if error.code() in REFUSALS:
        logger.error("Kafka refuses the connection: %s. What to do: %s", error.str(), REFUSALS[error.code()])


def protocol_of(settings: Settings) -> SecurityProtocol:
    """Return the protocol; the embedded broker has neither TLS nor SASL."""
    return SecurityProtocol.PLAINTEXT if settings.embedded else settings.kafka_security_protocol


def librdkafka_security(settings: Settings) -> dict[str, Any]:
    """Return librdkafka's settings of TLS and SASL."""
    protocol = protocol_of(settings)
    found: dict[str, Any] = {}
    if protocol.tls:
        tls_context(settings)  # so that all commands report an invalid file in the same words
        key_password = settings.kafka_ssl_key_password
        found = {
            "ssl.ca.location": settings.kafka_ssl_ca,
            "ssl.certificate.location": settings.kafka_ssl_certificate,
            "ssl.key.location": settings.kafka_ssl_key,
            "ssl.key.password": key_password.get_secret_value() if key_password else None,
            "ssl.endpoint.identification.algorithm": "https" if settings.kafka_ssl_verify_hostname else "none",
        }
    if protocol.sasl:
        password = settings.kafka_sasl_password
        found |= {
            "sasl.mechanism": settings.kafka_sasl_mechanism,
            "sasl.username": settings.kafka_sasl_username,
            "sasl.password": password.get_secret_value() if password else None,
        }
    if found:
        found["security.protocol"] = protocol.value
    return {name: str(value) for name, value in found.items() if value is not None}


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """Return the TLS settings for Faust's client; None without TLS."""
    if not protocol_of(settings).tls:
        return None
    try:
        context = ssl.create_default_context(cafile=settings.kafka_ssl_ca)
    except OSError as error:  # ssl.SSLError is one
        raise SecurityMisconfigured(
            f"SAGER_KAFKA_SSL_CA names {settings.kafka_ssl_ca}, which holds no certificates that can be read "
            f"({error}): it must be the PEM file of the authorities that signed the brokers' certificates"
        ) from error
    context.check_hostname = settings.kafka_ssl_verify_hostname
    if settings.kafka_ssl_certificate is not None:
        _load_certificate(context, settings)
    return context


def _load_certificate(context: ssl.SSLContext, settings: Settings) -> None:
    password = settings.kafka_ssl_key_password
    # Never None: OpenSSL would prompt for the password on the terminal.
    known = password.get_secret_value() if password else ""
    try:
        context.load_cert_chain(str(settings.kafka_ssl_certificate), settings.kafka_ssl_key, lambda: known)
    except (OSError, ValueError) as error:  # a password longer than OpenSSL takes is a ValueError
        raise SecurityMisconfigured(
            f"SAGER_KAFKA_SSL_CERTIFICATE ({settings.kafka_ssl_certificate}) and SAGER_KAFKA_SSL_KEY "
            f"({settings.kafka_ssl_key}) cannot be used ({error}): they must be PEM files that belong "
            "together, and SAGER_KAFKA_SSL_KEY_PASSWORD the key's password if it has one"
        ) from error
