"""TLS and SASL for librdkafka and for Python's TLS, which Faust's client uses."""

import ssl
from typing import Any

from streams.exceptions import SecurityMisconfigured
from streams.settings import SecurityProtocol, Settings


def protocol_of(settings: Settings) -> SecurityProtocol:
    """Return the protocol; the embedded broker has neither TLS nor SASL."""
    return SecurityProtocol.PLAINTEXT if settings.embedded else settings.kafka_security_protocol


def librdkafka_security(settings: Settings) -> dict[str, Any]:
    """Return librdkafka's settings of TLS and SASL; none if neither is used."""
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
            "sasl.mechanism": settings.kafka_sasl_mechanism.value,
            "sasl.username": settings.kafka_sasl_username,
            "sasl.password": password.get_secret_value() if password else None,
        }
    if found:
        found["security.protocol"] = protocol.value
    return {name: str(value) for name, value in found.items() if value is not None}


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """Return Python's TLS settings, by default with the system's certificate authorities; None without TLS."""
    if not protocol_of(settings).tls:
        return None
    try:
        context = ssl.create_default_context(cafile=settings.kafka_ssl_ca)
    except OSError as error:  # ssl.SSLError is one
        raise SecurityMisconfigured(
            f"SAGER_KAFKA_SSL_CA names {settings.kafka_ssl_ca}, which holds no certificates that can be read "
            f"({_reason(error)}): it must be the PEM file of the authorities that signed the brokers' certificates"
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
            f"({settings.kafka_ssl_key}) cannot be used ({_reason(error)}): they must be PEM files that belong "
            "together, and SAGER_KAFKA_SSL_KEY_PASSWORD the key's password if it has one"
        ) from error


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or "wrong password, or no PEM").replace("_", " ").lower()
    return (error.strerror if isinstance(error, OSError) else None) or "wrong password"
